#include "model/measured_surface.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace stepsight {

namespace {

constexpr std::size_t most_neighbours = 9;
constexpr double fade = 2.0;  // factors of two after which a residual counts half

using Sample = MeasuredSurface::Sample;
using Point = MeasuredSurface::Point;

struct Neighbour {
  float squared = std::numeric_limits<float>::infinity();
  const Sample* sample = nullptr;
};

// The `wanted` nearest points found so far, nearest first.
struct Nearest {
  std::size_t wanted = most_neighbours;
  std::array<Neighbour, most_neighbours> best{};

  [[nodiscard]] float worst() const { return best[wanted - 1].squared; }
  void offer(Neighbour candidate) {
    if (candidate.squared >= worst()) return;
    std::size_t i = wanted - 1;
    for (; i > 0 && best[i - 1].squared > candidate.squared; --i) best[i] = best[i - 1];
    best[i] = candidate;
  }
};

using Axes = std::span<const std::size_t>;

// Ranges up to this size are not split but searched point by point.
constexpr std::size_t leaf = 32;

void arrange(std::span<Sample> range, Axes axes, std::size_t depth) {
  if (range.size() <= leaf || axes.empty()) return;
  const std::size_t axis = axes[depth % axes.size()];
  const auto middle = static_cast<std::ptrdiff_t>(range.size() / 2);
  std::nth_element(
      range.begin(), range.begin() + middle, range.end(), [axis](const Sample& a, const Sample& b) {
        return a.at[axis] < b.at[axis];
      });
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
    if (range.size() <= leaf || axes.empty()) {
      for (const Sample& sample : range) {
        nearest.offer({squared_distance(query, sample.at), &sample});
      }
      return;
    }
    const std::size_t middle = range.size() / 2;
    const Sample& sample = range[middle];
    nearest.offer({squared_distance(query, sample.at), &sample});
    const std::size_t axis = axes[depth % axes.size()];
    const float side = query[axis] - sample.at[axis];
    const auto low = range.first(middle);
    const auto high = range.subspan(middle + 1);
    in(side < 0 ? low : high, depth + 1);
    if (side * side < nearest.worst()) in(side < 0 ? high : low, depth + 1);
  }
};

// Weighted least squares of a plane through the neighbours, evaluated at the query: in one size
// with two neighbours this is interpolation along a line. A small penalty on the slopes keeps
// points that lie all on one side from being extrapolated.
double local_plane(const Nearest& nearest, const Point& query, Axes axes) {
  constexpr std::size_t size = MeasuredSurface::max_dimensions + 1;
  std::array<std::array<double, size + 1>, size> m{};
  const std::size_t n = axes.size() + 1;
  for (std::size_t i = 0; i < nearest.wanted && nearest.best[i].sample != nullptr; ++i) {
    const Sample& sample = *nearest.best[i].sample;
    const double weight = 1.0 / static_cast<double>(nearest.best[i].squared);
    std::array<double, size> row{1.0};
    for (std::size_t a = 0; a < axes.size(); ++a) {
      row[a + 1] = static_cast<double>(sample.at[axes[a]] - query[axes[a]]);
    }
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < n; ++c) m[r][c] += weight * row[r] * row[c];
      m[r][n] += weight * row[r] * static_cast<double>(sample.log_residual);
    }
  }
  constexpr double slope_penalty = 0.05;
  for (std::size_t r = 1; r < n; ++r) m[r][r] += slope_penalty;
  // Symmetric and positive definite: elimination without pivoting, upwards so that the first
  // unknown, the value at the query, is solved last and needs no back substitution.
  for (std::size_t p = n - 1; p > 0; --p) {
    for (std::size_t r = 0; r < p; ++r) {
      const double factor = m[r][p] / m[p][p];
      for (std::size_t c = 0; c <= p; ++c) m[r][c] -= factor * m[p][c];
      m[r][n] -= factor * m[p][n];
    }
  }
  return m[0][n] / m[0][0];
}

// Within what the neighbours say: a query outside them is not extrapolated.
double bounded_by(const Nearest& nearest, double value) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t i = 0; i < nearest.wanted && nearest.best[i].sample != nullptr; ++i) {
    const auto r = static_cast<double>(nearest.best[i].sample->log_residual);
    low = std::min(low, r);
    high = std::max(high, r);
  }
  return std::clamp(value, low, high);
}

// Points at one place (shapes that differ in what the surface does not look at) are one
// measurement.
double mean_within(const Nearest& nearest, double distance) {
  double sum = 0;
  std::size_t count = 0;
  while (count < nearest.wanted && nearest.best[count].sample != nullptr &&
         static_cast<double>(nearest.best[count].squared) < distance * distance) {
    sum += static_cast<double>(nearest.best[count++].sample->log_residual);
  }
  return sum / static_cast<double>(count);
}

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
  // A line needs two points, a cell in d sizes its 2^d corners.
  search.nearest.wanted =
      std::min(most_neighbours, (std::size_t{1} << std::min<std::size_t>(axes_.size(), 3)) + 1);
  if (axes_.size() <= 1) search.nearest.wanted = 2;
  search.in(samples_, 0);
  const Nearest& nearest = search.nearest;
  const double distance = std::sqrt(static_cast<double>(nearest.best.front().squared));
  if (!std::isfinite(distance)) return {0, std::numeric_limits<double>::infinity()};
  constexpr double same = 1e-6;
  if (distance < same) return {mean_within(nearest, same), 0};
  const double faded = 1.0 / (1.0 + (distance / fade) * (distance / fade));
  return {bounded_by(nearest, local_plane(nearest, query, axes_)) * faded, distance};
}

}  // namespace stepsight
