#include "model/io/trace_stream.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <zlib.h>

#include "model/errors.h"

namespace stepsight {

void TraceStream::fail(const std::string& what) const {
  throw UserError(name_ + ": byte " + std::to_string(offset()) + ": " + what);
}

TraceStream::int_type TraceStream::underflow() {
  before_ += static_cast<std::uint64_t>(egptr() - eback());
  setg(buffer_.data(), buffer_.data(), buffer_.data());
  if (before_ - token_ > longest_token) {
    fail("one value is longer than 16 MiB: not a trace that a profiler wrote");
  }
  const std::size_t got = read_(buffer_.data(), buffer_.size());
  if (got == 0) return traits_type::eof();
  setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
  return traits_type::to_int_type(buffer_[0]);
}

std::unique_ptr<TraceStream> open_trace(const std::string& path,
                                        std::function<void(std::size_t bytes)> heard) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw UserError(path + ": is a directory, not a file");
  }
  errno = 0;
  const std::shared_ptr<gzFile_s> file(gzopen(path.c_str(), "rb"), [](gzFile f) {
    if (f != nullptr) gzclose_r(f);
  });
  if (!file) {
    throw UserError(path + ": cannot be read: " + std::strerror(errno != 0 ? errno : ENOMEM));
  }
  gzbuffer(file.get(), 1 << 17);
  return std::make_unique<TraceStream>(
      path, [file, path, heard = std::move(heard)](char* to, std::size_t size) {
        const int got = gzread(file.get(), to, static_cast<unsigned>(size));
        int status = Z_OK;
        const char* reason = gzerror(file.get(), &status);
        // What came before a cut is handed out first; the next call reports the cut.
        if (got > 0) {
          if (heard) heard(static_cast<std::size_t>(got));
          return static_cast<std::size_t>(got);
        }
        if (status == Z_OK || status == Z_STREAM_END) return std::size_t{0};
        if (status == Z_BUF_ERROR) {
          throw UserError(path + ": the compressed file ends early, after " +
                          std::to_string(gztell(file.get())) +
                          " bytes of text: was the export or the copy interrupted?");
        }
        throw UserError(path + ": cannot be decompressed after " +
                        std::to_string(gztell(file.get())) + " bytes of text: " + reason);
      });
}

}  // namespace stepsight
