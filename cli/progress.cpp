#include "cli/progress.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "reports/text_table.h"

namespace stepsight {

namespace {

std::string time_left(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

Progress::Progress(std::string what, std::uint64_t total)
    : what_(std::move(what)), total_(total), on_(::isatty(STDERR_FILENO) == 1) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void Progress::show(std::uint64_t done) {
  if (!on_) return;
  const Clock::time_point now = Clock::now();
  if (done < total_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const double passed = seconds();
  if (passed < 1 && !drawn_) return;
  drawn_ = true;
  constexpr std::size_t width = 20;
  const double share = total_ > 0 ? static_cast<double>(done) / static_cast<double>(total_) : 1;
  const auto full = static_cast<std::size_t>(share * width);
  const double rate = static_cast<double>(done) / passed;
  const double left = rate > 0 ? static_cast<double>(total_ - done) / rate : 0;
  const std::string line = fmt::format("\r\033[K[{}{}] {} of {} {}, {}/s, {} left",
                                       std::string(full, '#'),
                                       std::string(width - full, '.'),
                                       format_count(static_cast<double>(done)),
                                       format_count(static_cast<double>(total_)),
                                       what_,
                                       format_significant(rate),
                                       time_left(left));
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

void Progress::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

}  // namespace stepsight
