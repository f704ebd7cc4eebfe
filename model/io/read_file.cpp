#include "model/io/read_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>

#include <unistd.h>
#include <zlib.h>

#include "model/errors.h"
#include "model/io/error_list.h"

namespace stepsight {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw UserError(path + ": " + why);
}

[[noreturn]] void too_large(const std::string& path, std::size_t max_bytes, std::string_view what) {
  throw UserError(locate(path,
                         {1, 1},
                         "is larger than " + std::to_string(max_bytes / megabyte) +
                             " MB, the most " + std::string(what) + " may have"));
}

std::string read_raw(const std::string& path, std::size_t max_bytes, std::string_view what) {
  // fopen succeeds on a directory and only reading fails, with a message nobody understands.
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail(path, "is a directory, not a file");
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(path, std::string("cannot be read: ") + std::strerror(errno));
  std::string text;
  std::array<char, 1 << 16> buffer{};
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), file.get())) > 0) {
    if (text.size() + got > max_bytes) too_large(path, max_bytes, what);
    text.append(buffer.data(), got);
  }
  if (std::ferror(file.get()) != 0) fail(path, "could not be read to its end");
  return text;
}

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

// Undoes one or more gzip members that stand one after another, as `cat a.gz b.gz` makes them.
std::string gunzip(const std::string& path,
                   std::string raw,
                   std::size_t max_bytes,
                   std::string_view what) {
  if (raw.size() > std::numeric_limits<uInt>::max()) too_large(path, max_bytes, what);
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
    if (status != Z_OK && status != Z_STREAM_END) fail(path, "is a damaged gzip file");
    const std::size_t got = buffer.size() - stream.avail_out;
    if (text.size() + got > max_bytes) too_large(path, max_bytes, what);
    text.append(buffer.data(), got);
    if (status != Z_STREAM_END) continue;
    if (stream.avail_in == 0) return text;
    if (inflateReset(&stream) != Z_OK) fail(path, "is a damaged gzip file");
  }
}

}  // namespace

std::string read_file(const std::string& path, std::size_t max_bytes, std::string_view what) {
  std::string raw = read_raw(path, max_bytes, what);
  const bool gzip = raw.size() >= 2 && raw[0] == '\x1f' && raw[1] == '\x8b';
  return gzip ? gunzip(path, std::move(raw), max_bytes, what) : raw;
}

void write_file_atomically(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp." + std::to_string(getpid());
  File file(std::fopen(temporary.c_str(), "wb"));
  if (!file) fail(path, std::string("cannot be written: ") + std::strerror(errno));
  bool good = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  // The data must be on the disk before the new name is, or a crash between leaves an empty file.
  good = good && std::fflush(file.get()) == 0 && fsync(fileno(file.get())) == 0;
  good = std::fclose(file.release()) == 0 && good;
  good = good && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (good) return;
  const int reason = errno;
  std::remove(temporary.c_str());
  fail(path, std::string("cannot be written: ") + std::strerror(reason));
}

}  // namespace stepsight
