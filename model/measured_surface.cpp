#include "model/measured_surface.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace stepsight {

namespace {

constexpr std::size_t neighbours = 8;  // the corners of a cell in three sizes
constexpr double fade = 2.0;           // factors of two after which a residual counts half

using Sample = MeasuredSurface::Sample;
using Point = MeasuredSurface::Point;

struct Neighbour {
  float squared = std::numeric_limits<float>::infinity();
  float log_residual = 0;
};

// The nearest points found so far, nearest first.
struct Nearest {
  std::array<Neighbour, neighbours> best{};

  [[nodiscard]] float worst() const { return best.back().squared; }
  void offer(Neighbour candidate) {
    if (candidate.squared >= worst()) return;
    std::size_t i = neighbours - 1;
    for (; i > 0 && best[i - 1].squared > candidate.squared; --i) best[i] = best[i - 1];
    best[i] = candidate;
  }
};

using Axes = std::span<const std::size_t>;

void arrange(std::span<Sample> range, Axes axes, std::size_t depth) {
  if (range.size() < 2 || axes.empty()) return;
  const std::size_t axis = axes[depth % axes.size()];
  const auto middle = static_cast<std::ptrdiff_t>(range.size() / 2);
  std::nth_element(range.begin(), range.begin() + middle, range.end(),
                   [axis](const Sample& a, const Sample& b) { return a.at[axis] < b.at[axis]; });
  arrange(range.first(range.size() / 2), axes, depth + 1);
  arrange(range.subspan(range.size() / 2 + 1), axes, depth + 1);
}

float squared_distance(const Point& a, const Point& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

struct Search {
  const Point& query;
  Axes axes;
  Nearest nearest{};

  void in(std::span<const Sample> range, std::size_t depth) {
    if (range.empty()) return;
    const std::size_t middle = range.size() / 2;
    const Sample& sample = range[middle];
    nearest.offer({squared_distance(query, sample.at), sample.log_residual});
    const std::size_t axis = axes.empty() ? 0 : axes[depth % axes.size()];
    const float side = query[axis] - sample.at[axis];
    const auto low = range.first(middle);
    const auto high = range.subspan(middle + 1);
    in(side < 0 ? low : high, depth + 1);
    if (side * side < nearest.worst()) in(side < 0 ? high : low, depth + 1);
  }
};

}  // namespace

MeasuredSurface::MeasuredSurface(std::vector<Sample> samples) : samples_(std::move(samples)) {
  for (std::size_t axis = 0; axis < max_dimensions; ++axis) {
    const auto differs = [&](const Sample& s) { return s.at[axis] != samples_.front().at[axis]; };
    if (std::any_of(samples_.begin(), samples_.end(), differs)) axes_.push_back(axis);
  }
  arrange(samples_, axes_, 0);
}

MeasuredSurface::Answer MeasuredSurface::at(const Point& query) const {
  Search search{query, axes_};
  search.in(samples_, 0);
  const Nearest& nearest = search.nearest;
  const double distance = std::sqrt(static_cast<double>(nearest.best.front().squared));
  if (!std::isfinite(distance)) return {0, std::numeric_limits<double>::infinity()};
  // Points at the query itself (the same shape measured twice) are averaged; otherwise weights fall
  // with the cube of the distance, so that the nearest cell decides.
  constexpr double same = 1e-6;
  double weights = 0;
  double sum = 0;
  for (const Neighbour& n : nearest.best) {
    if (!std::isfinite(n.squared)) break;
    const double d = std::sqrt(static_cast<double>(n.squared));
    if (distance < same && d >= same) break;
    const double weight = distance < same ? 1.0 : 1.0 / (d * d * d);
    weights += weight;
    sum += weight * static_cast<double>(n.log_residual);
  }
  const double faded = 1.0 / (1.0 + (distance / fade) * (distance / fade));
  return {sum / weights * faded, distance};
}

}  // namespace stepsight
