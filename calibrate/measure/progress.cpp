#include "calibrate/measure/progress.h"

#include <iostream>

#include <unistd.h>

namespace stepsight::calibrate {

Progress::Progress(std::string_view tool) : tool_(tool), on_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (on_) std::cerr << "\r\x1b[K" << std::flush;
}

void Progress::show(std::size_t done, std::size_t all, std::string_view what) {
  const auto now = std::chrono::steady_clock::now();
  if (!on_ || now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  std::cerr << "\r\x1b[K" << tool_ << ' ' << done << '/' << all << ' ' << what << std::flush;
}

}  // namespace stepsight::calibrate
