// A progress line on stderr, on a terminal only.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

namespace stepsight::calibrate {

class Progress {
 public:
  // Quiet unless stderr is a terminal.
  explicit Progress(std::string_view tool);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&&) = delete;
  Progress& operator=(Progress&&) = delete;

  // "calibrate_gemm 17/250 m=512 n=768 k=768"; drawn at most ten times a second.
  void show(std::size_t done, std::size_t all, std::string_view what);

 private:
  std::string tool_;
  bool on_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace stepsight::calibrate
