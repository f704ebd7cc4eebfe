// Measured points laid over a formula: log(measured / formula) at each point, interpolated between
// the nearest points and fading out away from them. A prediction is the formula times the
// exponential of the residual, so it returns measured points exactly and the formula where nothing
// was measured.
#pragma once
#include <array>
#include <cstddef>
#include <vector>

namespace stepsight {

class MeasuredSurface {
 public:
  static constexpr std::size_t max_dimensions = 5;
  using Point = std::array<float, max_dimensions>;  // log2 of sizes; unused coordinates are 0

  struct Sample {
    Point at{};
    float log_residual = 0;
  };

  struct Answer {
    double log_residual = 0;  // 0 far from every point
    double distance = 0;      // to the nearest point, in factors of two; infinite without points
    // Inside: the nearest point is within a factor of two and a half in each size or so.
    [[nodiscard]] bool inside() const { return distance <= 1.3; }
  };

  MeasuredSurface() = default;
  explicit MeasuredSurface(std::vector<Sample> samples);

  [[nodiscard]] Answer at(const Point& query) const;
  [[nodiscard]] bool empty() const { return samples_.empty(); }
  [[nodiscard]] std::size_t size() const { return samples_.size(); }

 private:
  // A k-d tree stored in place: the median of each range splits it along the axis of its depth, the
  // axes taken in turn from those in which the points differ; small ranges are left as they are.
  std::vector<Sample> samples_;
  std::vector<std::size_t> axes_;
};

}  // namespace stepsight
