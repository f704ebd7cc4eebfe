#include "model/measured_surface.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

namespace stepsight {

namespace {

constexpr std::size_t most_neighbours = 16;
constexpr std::size_t plane_neighbours = 9;
constexpr double fade = 2.0;  // factors of two after which a residual of a plane counts half
// Variance that a point does not share with its neighbours, relative to what it does. Chosen, as
// the scales in surface_point(Gemm), for the least error on held-out products of an H200.
constexpr float own_scatter = 0.1F;

using Sample = MeasuredSurface::Sample;
using Point = MeasuredSurface::Point;

struct Neighbour {
  float squared = std::numeric_limits<float>::infinity();
  const Sample* sample = nullptr;
};

// Points equally far (designs are full of them) come in an order of their own: where they stand in the tree
// depends on how the standard library partitions.
bool is_nearer(const Neighbour& a, const Neighbour& b) {
  if (a.squared != b.squared) return a.squared < b.squared;
  if (b.sample == nullptr) return true;
  if (a.sample->at != b.sample->at) return a.sample->at < b.sample->at;
  return a.sample->log_residual < b.sample->log_residual;
}

// The `wanted` nearest points found so far, nearest first.
struct Nearest {
  std::size_t wanted = most_neighbours;
  std::array<Neighbour, most_neighbours> best{};

  [[nodiscard]] float worst() const { return best[wanted - 1].squared; }
  void offer(Neighbour candidate) {
    if (candidate.squared > worst() || !is_nearer(candidate, best[wanted - 1])) return;
    std::size_t i = wanted - 1;
    for (; i > 0 && is_nearer(candidate, best[i - 1]); --i) best[i] = best[i - 1];
    best[i] = candidate;
  }
};

using Axes = std::span<const std::size_t>;

// Ranges this short are looked through instead of split further.
constexpr std::size_t bucket = 6;

std::size_t widest(std::span<const Sample> range, Axes axes) {
  std::size_t best = axes.front();
  float most = -1;
  for (const std::size_t axis : axes) {
    const auto [low, high] = std::minmax_element(
        range.begin(), range.end(),
        [axis](const Sample& a, const Sample& b) { return a.at[axis] < b.at[axis]; });
    const float width = high->at[axis] - low->at[axis];
    if (width > most) best = axis;
    most = std::max(most, width);
  }
  return best;
}

void arrange(std::span<Sample> range, std::span<unsigned char> split_axes, Axes axes) {
  if (range.size() <= bucket || axes.empty()) return;
  const std::size_t axis = widest(range, axes);
  const std::size_t middle = range.size() / 2;
  std::nth_element(range.begin(), range.begin() + static_cast<std::ptrdiff_t>(middle), range.end(),
                   [axis](const Sample& a, const Sample& b) { return a.at[axis] < b.at[axis]; });
  split_axes[middle] = static_cast<unsigned char>(axis);
  arrange(range.first(middle), split_axes.first(middle), axes);
  arrange(range.subspan(middle + 1), split_axes.subspan(middle + 1), axes);
}

// Four numbers that a processor works on at once; as many instructions for one. Each is worked on as it
// would be alone, so that results do not depend on it. (Left to themselves, compilers write out the loops
// below number by number.)
using Four = float __attribute__((vector_size(4 * sizeof(float))));

Four absolute(Four x) {
  using Bits = std::int32_t __attribute__((vector_size(sizeof(Four))));
  Bits bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits &= std::numeric_limits<std::int32_t>::max();  // all but the sign
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

Four four_at(const float* from) {
  Four out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// A sample is eight floats: seven coordinates, and a residual that is not looked at. Summed in the order
// of the axes.
float squared_distance(const Sample& a, const Sample& b) {
  static_assert(sizeof(Sample) == 2 * sizeof(Four));
  const Four low = four_at(a.at.data()) - four_at(b.at.data());
  const Four high = four_at(a.at.data() + 3) - four_at(b.at.data() + 3);
  const Four first = low * low;
  const Four last = high * high;
  return first[0] + first[1] + first[2] + first[3] + last[1] + last[2] + last[3];
}

struct Search {
  Sample query;  // its residual is 0
  Nearest nearest{};
  Point outside{};  // how far the range looked at lies from the query along each axis

  void offer(const Sample& sample) { nearest.offer({squared_distance(query, sample), &sample}); }

  // `least` is the squared length of `outside`: no point of the range is nearer.
  void in(std::span<const Sample> range, std::span<const unsigned char> split_axes, float least) {
    if (range.size() <= bucket) {
      for (const Sample& sample : range) offer(sample);
      return;
    }
    const std::size_t middle = range.size() / 2;
    offer(range[middle]);
    const std::size_t axis = split_axes[middle];
    const float side = query.at[axis] - range[middle].at[axis];
    const auto visit = [&](bool low, float distance) {
      if (low) {
        in(range.first(middle), split_axes.first(middle), distance);
      } else {
        in(range.subspan(middle + 1), split_axes.subspan(middle + 1), distance);
      }
    };
    visit(side < 0, least);
    const float before = outside[axis];
    const float farther = least - before * before + side * side;
    // A hair more than rounding, so that no point is missed.
    if (farther * 0.999F > nearest.worst()) return;
    outside[axis] = side;
    visit(!(side < 0), farther);
    outside[axis] = before;
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

using Row = std::array<float, most_neighbours>;

// From the four that `first` is among on.
template <typename Change>
void each_four(Row& row, std::size_t first, Change change) {
  for (std::size_t i = first / 4 * 4; i < row.size(); i += 4) {
    const Four changed = change(four_at(row.data() + i), i);
    std::memcpy(row.data() + i, &changed, sizeof changed);
  }
}
void add_distances(Row& to, const Row& at, float here, std::size_t first) {
  each_four(to, first, [&](Four sum, std::size_t i) {
    const Four apart = four_at(at.data() + i) - here;
    return sum + absolute(apart);
  });
}
void divide(Row& row, float by, std::size_t first) {
  each_four(row, first, [&](Four x, std::size_t) { return x / by; });
}
void subtract(Row& from, const Row& what, float times, std::size_t first) {
  each_four(from, first, [&](Four x, std::size_t i) { return x - times * four_at(what.data() + i); });
}

// Solves (C + scatter) w = c for the neighbours' correlations C among themselves and c with the
// query, by Cholesky; the estimate is w . residuals. The mean far away is 0, the formula alone.
//
// Everything lies in rows of as many numbers as there can be neighbours: coordinates by axis, and columns
// of the matrix, each taken off all later ones at once. What a row holds before its diagonal or behind the
// last neighbour is written and never read.
double kriged(const Nearest& nearest, const Point& query, Axes axes) {
  std::array<Row, MeasuredSurface::max_dimensions> at{};
  Row other{};  // L^-1 residuals
  std::size_t n = 0;
  for (; n < nearest.wanted && nearest.best[n].sample != nullptr; ++n) {
    const Sample& sample = *nearest.best[n].sample;
    for (const std::size_t axis : axes) at[axis][n] = sample.at[axis];
    other[n] = sample.log_residual;
  }
  Row forward{};  // L^-1 c
  std::array<Row, most_neighbours> column{};
  for (const std::size_t axis : axes) {
    add_distances(forward, at[axis], query[axis], 0);
    for (std::size_t j = 0; j < n; ++j) add_distances(column[j], at[axis], at[axis][j], j);
  }
  for (std::size_t i = 0; i < n; ++i) forward[i] = std::exp(-forward[i]);
  for (std::size_t j = 0; j < n; ++j) {
    column[j][j] = 1 + own_scatter;
    for (std::size_t i = j + 1; i < n; ++i) column[j][i] = std::exp(-column[j][i]);
  }
  float estimate = 0;
  for (std::size_t p = 0; p < n; ++p) {
    Row& l = column[p];
    const float pivot = std::sqrt(std::max(l[p], own_scatter));
    divide(l, pivot, p);
    const float c = forward[p] / pivot;
    const float residual = other[p] / pivot;
    estimate += c * residual;
    subtract(forward, l, c, p);
    subtract(other, l, residual, p);
    for (std::size_t j = p + 1; j < n; ++j) subtract(column[j], l, l[j], j);
  }
  return static_cast<double>(estimate);
}

// Within what the neighbours say, or the formula: a query outside them is not extrapolated.
double bounded_by(const Nearest& nearest, double value, double low, double high) {
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

MeasuredSurface::MeasuredSurface(std::vector<Sample> samples, Interpolation interpolation)
    : samples_(std::move(samples)), interpolation_(interpolation) {
  for (std::size_t axis = 0; axis < max_dimensions; ++axis) {
    const auto differs = [&](const Sample& s) { return s.at[axis] != samples_.front().at[axis]; };
    if (std::any_of(samples_.begin(), samples_.end(), differs)) axes_.push_back(axis);
  }
  split_axes_.resize(samples_.size());
  arrange(samples_, split_axes_, axes_);
}

// Correlation lost along the sizes in which no two points differ: the same for all of them, and
// therefore a factor of the whole estimate.
double MeasuredSurface::off_axis_correlation(const Point& query) const {
  double far = 0;
  for (std::size_t d = 0; d < max_dimensions; ++d) {
    if (std::ranges::find(axes_, d) != axes_.end()) continue;
    far += std::abs(static_cast<double>(query[d]) - static_cast<double>(samples_.front().at[d]));
  }
  return std::exp(-far);
}

MeasuredSurface::Answer MeasuredSurface::at(const Point& query) const {
  Search search{{query, 0}};
  const bool averaging = interpolation_ == Interpolation::average;
  // A line needs two points, a cell in d sizes its 2^d corners.
  const std::size_t corners = (std::size_t{1} << std::min<std::size_t>(axes_.size(), 3)) + 1;
  search.nearest.wanted = averaging           ? most_neighbours
                          : axes_.size() <= 1 ? 2
                                              : std::min(plane_neighbours, corners);
  search.in(samples_, split_axes_, 0);
  const Nearest& nearest = search.nearest;
  const double distance = std::sqrt(static_cast<double>(nearest.best.front().squared));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!std::isfinite(distance)) return {0, infinity};
  constexpr double same = 1e-6;
  if (distance < same) return {mean_within(nearest, same), 0};
  if (averaging) {
    const double estimate = kriged(nearest, query, axes_) * off_axis_correlation(query);
    return {bounded_by(nearest, estimate, 0, 0), distance};
  }
  const double faded = 1.0 / (1.0 + (distance / fade) * (distance / fade));
  const double plane = bounded_by(nearest, local_plane(nearest, query, axes_), infinity, -infinity);
  return {plane * faded, distance};
}

}  // namespace stepsight
