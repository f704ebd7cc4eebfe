// Measured times over one size, beside a formula: between two points the time lies on the straight
// line between theirs, as a latency and a rate would have it. So a curve through times that do not
// fall does not fall either, which a formula times an interpolated residual would not promise.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace stepsight {

class MeasuredCurve {
 public:
  struct Sample {
    double size = 0;          // > 0
    double log_residual = 0;  // log(measured / formula)
  };

  MeasuredCurve() = default;
  explicit MeasuredCurve(std::vector<Sample> samples) : samples_(std::move(samples)) {
    std::ranges::sort(samples_, {}, &Sample::size);
  }

  // The time of a size, `formula(size)` being the formula's: the formula alone without points, and
  // times the end's residual beyond the ends.
  template <typename Formula>
  [[nodiscard]] double time(double size, const Formula& formula) const {
    if (samples_.empty()) return formula(size);
    const auto above = std::ranges::lower_bound(samples_, size, {}, &Sample::size);
    if (above == samples_.end()) return formula(size) * std::exp(samples_.back().log_residual);
    if (above == samples_.begin() || above->size == size) {
      return formula(size) * std::exp(above->log_residual);
    }
    const Sample& low = *(above - 1);
    const double from = formula(low.size) * std::exp(low.log_residual);
    const double to = formula(above->size) * std::exp(above->log_residual);
    return from + (to - from) * (size - low.size) / (above->size - low.size);
  }

  // Is a point within a factor of two and a half?
  [[nodiscard]] bool near(double size) const {
    constexpr double factor = 2.5;
    const auto above = std::ranges::lower_bound(samples_, size / factor, {}, &Sample::size);
    return above != samples_.end() && above->size <= size * factor;
  }

  [[nodiscard]] bool empty() const { return samples_.empty(); }
  [[nodiscard]] std::size_t size() const { return samples_.size(); }

 private:
  std::vector<Sample> samples_;  // by size
};

}  // namespace stepsight
