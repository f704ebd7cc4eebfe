#include "model/io/read_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include <unistd.h>

#include "model/errors.h"
#include "model/io/error_list.h"
#include "model/io/files_read.h"
#include "model/io/gunzip.h"

namespace stepsight {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw UserError(path + ": " + why);
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
    if (text.size() + got > max_bytes) fail_too_large(path, max_bytes, what);
    text.append(buffer.data(), got);
  }
  if (std::ferror(file.get()) != 0) fail(path, "could not be read to its end");
  return text;
}

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

void fail_too_large(const std::string& path, std::size_t max_bytes, std::string_view what) {
  throw UserError(locate(path,
                         {1, 1},
                         "is larger than " + std::to_string(max_bytes / megabyte) +
                             " MB, the most " + std::string(what) + " may have"));
}

std::string read_file(const std::string& path, std::size_t max_bytes, std::string_view what) {
  std::string text = read_raw(path, max_bytes, what);
  if (is_gzip(text)) text = gunzip(path, std::move(text), max_bytes, what);
  FilesRead::note(path, text);
  return text;
}

WriteTarget write_target(const std::string& path) {
  namespace fs = std::filesystem;
  WriteTarget target{path, false};
  std::error_code error;
  // A link may name another link, and the last of them a file that is not there yet.
  constexpr int most_links = 40;  // as Linux does, so that a loop ends
  for (int i = 0; i < most_links && fs::is_symlink(target.path, error); ++i) {
    const fs::path next = fs::read_symlink(target.path, error);
    if (error) break;
    target.path = (fs::path(target.path).parent_path() / next).string();
  }
  const fs::file_status status = fs::status(target.path, error);
  target.in_place = fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
  return target;
}

void write_file_atomically(const std::string& path, std::string_view text) {
  const WriteTarget target = write_target(path);
  const std::string temporary =
      target.in_place ? target.path : target.path + ".tmp." + std::to_string(getpid());
  File file(std::fopen(temporary.c_str(), "wb"));
  if (!file) fail(path, std::string("cannot be written: ") + std::strerror(errno));
  bool good = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  good = good && std::fflush(file.get()) == 0;
  // The data must be on the disk before the new name is, or a crash between leaves an empty file.
  good = good && (target.in_place || fsync(fileno(file.get())) == 0);
  good = std::fclose(file.release()) == 0 && good;
  if (!target.in_place) good = good && std::rename(temporary.c_str(), target.path.c_str()) == 0;
  if (good) return;
  const int reason = errno;
  if (!target.in_place) std::remove(temporary.c_str());
  fail(path, std::string("cannot be written: ") + std::strerror(reason));
}

}  // namespace stepsight
