// Collects everything that is wrong with one file, so that a person mends it in one go.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace stepsight {

// A place in a file, both counted from 1; 0 means the file as a whole.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  friend constexpr bool operator==(const Position&, const Position&) = default;
  friend constexpr bool operator<(const Position& a, const Position& b) {
    return a.line != b.line ? a.line < b.line : a.column < b.column;
  }
};

class ErrorList {
 public:
  explicit ErrorList(std::string file) : file_(std::move(file)) {}

  // Notes `file:line:column: message`. The same message at the same place counts once: a sweep
  // meets one mistake at many of its points.
  void add(Position at, std::string message);

  // Notes a finished message about something else (another file, a flag), after those of the file.
  void add_finished(std::string message);

  bool empty() const { return errors_.empty() && finished_.empty(); }
  std::size_t size() const { return errors_.size() + finished_.size(); }
  const std::string& file() const { return file_; }

  // True from `most` errors on: readers of many rows stop there.
  bool full() const { return size() >= most; }

  // Throws one UserError with a line for each error in the order of the file; does nothing when
  // there is none.
  void throw_if_any() const;

  static constexpr std::size_t most = 100;

 private:
  std::string file_;
  std::set<std::pair<Position, std::string>> errors_;
  std::vector<std::string> finished_;
};

// "file:line:column: message", without the numbers where the position is that of the whole file.
std::string locate(const std::string& file, Position at, const std::string& message);

}  // namespace stepsight
