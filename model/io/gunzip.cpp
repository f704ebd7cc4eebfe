#include "model/io/gunzip.h"

#include <array>
#include <limits>
#include <new>

#include <zlib.h>

#include "model/errors.h"

namespace stepsight {

namespace {

struct Inflater {
  z_stream stream{};
  Inflater() {
    // 16 + MAX_WBITS: a gzip header is expected, a zlib one is not.
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  Inflater(Inflater&&) = delete;
  Inflater& operator=(Inflater&&) = delete;
};

}  // namespace

std::string gunzip(const std::string& path,
                   std::string raw,
                   std::size_t max_bytes,
                   std::string_view what) {
  if (raw.size() > std::numeric_limits<uInt>::max()) fail_too_large(path, max_bytes, what);
  Inflater inflater;
  z_stream& stream = inflater.stream;
  stream.next_in = reinterpret_cast<Bytef*>(raw.data());
  stream.avail_in = static_cast<uInt>(raw.size());
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END)
      throw UserError(path + ": is a damaged gzip file");
    const std::size_t got = buffer.size() - stream.avail_out;
    if (text.size() + got > max_bytes) fail_too_large(path, max_bytes, what);
    text.append(buffer.data(), got);
    if (status != Z_STREAM_END) continue;
    if (stream.avail_in == 0) return text;
    if (inflateReset(&stream) != Z_OK) throw UserError(path + ": is a damaged gzip file");
  }
}

}  // namespace stepsight
