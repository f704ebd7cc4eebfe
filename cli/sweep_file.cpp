#include "cli/sweep_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "model/errors.h"
#include "reports/sweep_rows.h"

namespace stepsight {

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw UserError(path + ": " + what);
}

struct Kept {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // up to the end of the last whole row
};

// Every row must say the number that is due, and the first and the last be what this sweep would
// write.
Kept whole_rows(const std::string& part,
                const std::string& header,
                std::uint64_t begin,
                std::uint64_t end,
                const std::function<std::string(std::uint64_t)>& row_of) {
  std::ifstream in(part, std::ios::binary);
  if (!in) fail(part, std::string("cannot be read: ") + std::strerror(errno));
  Kept kept;
  std::string line;
  const auto is_whole = [&] { return !in.eof(); };  // a line feed ended it
  if (!header.empty()) {
    if (!std::getline(in, line) || !is_whole()) return kept;
    if (line + "\n" != header) fail(part, "belongs to another sweep: it has other columns");
    kept.bytes = header.size();
  }
  std::string last;
  while (std::getline(in, line) && is_whole()) {
    const std::uint64_t due = begin + kept.rows;
    const std::optional<std::uint64_t> point = point_of_row(line);
    if (due >= end || point != due) {
      fail(part,
           "belongs to another sweep: row " + std::to_string(kept.rows + 1) + " is not point " +
               std::to_string(due));
    }
    if (kept.rows == 0 && line + "\n" != row_of(due)) {
      fail(part, "belongs to another sweep: its first row is another one than this sweep's");
    }
    ++kept.rows;
    kept.bytes += line.size() + 1;
    last.swap(line);
  }
  if (kept.rows > 0 && last + "\n" != row_of(begin + kept.rows - 1)) {
    fail(part, "belongs to another sweep: its last row is another one than this sweep's");
  }
  return kept;
}

}  // namespace

SweepFile::SweepFile(const std::string& path,
                     const std::string& header,
                     std::uint64_t begin,
                     std::uint64_t end,
                     bool resume,
                     const std::function<std::string(std::uint64_t)>& row_of)
    : target_(write_target(path)),
      part_(target_.in_place ? target_.path : target_.path + ".part"),
      next_(begin) {
  std::error_code error;
  if (!target_.in_place && std::filesystem::exists(part_, error)) {
    if (!resume) {
      fail(part_,
           "is there from a sweep that was interrupted; --resume goes on with it, or "
           "delete it");
    }
    const Kept kept = whole_rows(part_, header, begin, end, row_of);
    std::filesystem::resize_file(part_, kept.bytes, error);
    if (error) fail(part_, "cannot be cut behind its last row: " + error.message());
    next_ = begin + kept.rows;
    file_ = std::fopen(part_.c_str(), "ab");
    if (file_ != nullptr && kept.bytes == 0) append(header);
  } else {
    file_ = std::fopen(part_.c_str(), "wb");
    if (file_ != nullptr) append(header);
  }
  if (file_ == nullptr) fail(part_, std::string("cannot be written: ") + std::strerror(errno));
}

SweepFile::~SweepFile() {
  if (file_ != nullptr) std::fclose(file_);
}

void SweepFile::append(const std::string& rows) {
  if (std::fwrite(rows.data(), 1, rows.size(), file_) != rows.size() || std::fflush(file_) != 0) {
    fail(part_, std::string("cannot be written: ") + std::strerror(errno));
  }
}

void SweepFile::finish() {
  const int closed = std::fclose(file_);
  file_ = nullptr;
  if (closed != 0) fail(part_, std::string("cannot be written: ") + std::strerror(errno));
  if (target_.in_place) return;
  std::error_code error;
  std::filesystem::rename(part_, target_.path, error);
  if (error) fail(target_.path, "cannot be written: " + error.message());
}

}  // namespace stepsight
