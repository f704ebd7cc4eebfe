// A line on the terminal that says how far a long command is; nothing where standard error is no
// terminal.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace stepsight {

class Progress {
 public:
  // `what` is counted: "points".
  Progress(std::string what, std::uint64_t total);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Redraws at most ten times a second.
  void show(std::uint64_t done);
  // Wipes the line, so that a message can take its place.
  void clear();
  [[nodiscard]] double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  std::uint64_t total_;
  bool on_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace stepsight
