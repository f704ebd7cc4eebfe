// The file that a sweep writes: rows go to FILE.part, which takes the file's name when the last row
// is there. A sweep that was killed goes on behind its last whole row. What is no regular file (a
// pipe, a device) gets its rows at once.
#pragma once
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "model/io/read_file.h"

namespace stepsight {

class SweepFile {
 public:
  // Rows [begin, end) behind `header`. `row_of` says what a row must look like: a part file is only
  // gone on with where its rows are these. UserError where a part file is in the way (`resume`
  // false), is another sweep's, or cannot be written.
  SweepFile(const std::string& path,
            const std::string& header,
            std::uint64_t begin,
            std::uint64_t end,
            bool resume,
            const std::function<std::string(std::uint64_t)>& row_of);
  ~SweepFile();
  SweepFile(const SweepFile&) = delete;
  SweepFile& operator=(const SweepFile&) = delete;

  // The first row that is not there yet.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  // Whole rows, handed to the system before this returns.
  void append(const std::string& rows);
  void finish();

 private:
  WriteTarget target_;
  std::string part_;  // the target itself where that cannot be replaced
  std::FILE* file_ = nullptr;
  std::uint64_t next_ = 0;
};

}  // namespace stepsight
