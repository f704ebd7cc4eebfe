#include "model/measured_surface.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "model/four.h"
#include "model/nearest_samples.h"

namespace stepsight {

namespace {

constexpr std::size_t plane_neighbours = 9;
constexpr double same_place = 1e-6;
constexpr double fade = 2.0;  // factors of two after which a residual of a plane counts half
// Variance that a point does not share with its neighbours, relative to what it does. Chosen, as
// the scales in surface_point(Gemm), for the least error on held-out products of an H200.
constexpr float own_scatter = 0.1F;

using Sample = MeasuredSurface::Sample;
using Point = MeasuredSurface::Point;

using Axes = std::span<const std::size_t>;

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

using Factored = SurfaceMemory::Factored;
using Row = Factored::Row;
static_assert(Factored::size == most_neighbours);

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
  each_four(
      from, first, [&](Four x, std::size_t i) { return x - times * four_at(what.data() + i); });
}

// The neighbours' coordinates, by axis.
using Coordinates = std::array<Row, MeasuredSurface::max_dimensions>;
Coordinates coordinates_of(const Nearest& nearest, std::size_t count, Axes axes) {
  Coordinates out{};
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t axis : axes) out[axis][i] = nearest.best[i].sample->at[axis];
  }
  return out;
}

// L of C + scatter = L L^T by Cholesky, C the neighbours' correlations among themselves, and L^-1
// residuals.
//
// Everything lies in rows of as many numbers as there can be neighbours: the matrix by columns,
// each taken off all later ones at once. What a row holds before its diagonal or behind the last
// neighbour is written and never read.
void factor(
    const Nearest& nearest, const Coordinates& at, std::size_t n, Axes axes, Factored& out) {
  out.count = n;
  out.columns = {};
  Row other{};
  for (std::size_t i = 0; i < n; ++i) {
    out.samples[i] = nearest.best[i].sample;
    other[i] = nearest.best[i].sample->log_residual;
  }
  for (const std::size_t axis : axes) {
    for (std::size_t j = 0; j < n; ++j) add_distances(out.columns[j], at[axis], at[axis][j], j);
  }
  for (std::size_t j = 0; j < n; ++j) {
    out.columns[j][j] = 1 + own_scatter;
    for (std::size_t i = j + 1; i < n; ++i) out.columns[j][i] = std::exp(-out.columns[j][i]);
  }
  for (std::size_t p = 0; p < n; ++p) {
    Row& l = out.columns[p];
    const float pivot = std::sqrt(std::max(l[p], own_scatter));
    divide(l, pivot, p);
    out.residuals[p] = other[p] / pivot;
    subtract(other, l, out.residuals[p], p);
    for (std::size_t j = p + 1; j < n; ++j) subtract(out.columns[j], l, l[j], j);
    l[p] = pivot;
  }
}

bool is_of(const Factored& factored, const Nearest& nearest, std::size_t count) {
  if (factored.count != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (factored.samples[i] != nearest.best[i].sample) return false;
  }
  return true;
}

// w . residuals for the weights of (C + scatter) w = c, c the neighbours' correlations with the
// query. The mean far away is 0, the formula alone.
double kriged(const Nearest& nearest, const Point& query, Axes axes, Factored& known) {
  std::size_t n = 0;
  while (n < nearest.wanted && nearest.best[n].sample != nullptr) ++n;
  const Coordinates at = coordinates_of(nearest, n, axes);
  if (!is_of(known, nearest, n)) factor(nearest, at, n, axes, known);
  Row forward{};  // L^-1 c
  for (const std::size_t axis : axes) add_distances(forward, at[axis], query[axis], 0);
  for (std::size_t i = 0; i < n; ++i) forward[i] = std::exp(-forward[i]);
  float estimate = 0;
  for (std::size_t p = 0; p < n; ++p) {
    const Row& l = known.columns[p];
    const float c = forward[p] / l[p];
    estimate += c * known.residuals[p];
    subtract(forward, l, c, p);
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
  split_axes_ = arrange_as_tree(samples_, axes_);
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

// A query with its surroundings.
struct MeasuredSurface::Found {
  Point query;
  Nearest nearest;
  SurfaceMemory::Neighbourhood* place;
  double distance;  // to the nearest point; 0 for one that was measured
};

MeasuredSurface::Found MeasuredSurface::find(const Point& query, SurfaceMemory* memory) const {
  // A line needs two points, a cell in d sizes its 2^d corners.
  const std::size_t corners = (std::size_t{1} << std::min<std::size_t>(axes_.size(), 3)) + 1;
  const std::size_t wanted = interpolation_ == Interpolation::average ? most_neighbours
                             : axes_.size() <= 1                      ? 2
                                                 : std::min(plane_neighbours, corners);
  SurfaceMemory::Neighbourhood* const place =
      memory != nullptr ? &memory->near(samples_.data(), query) : nullptr;
  const Nearest nearest = nearest_samples({samples_, split_axes_}, query, wanted, place);
  const double distance = std::sqrt(static_cast<double>(nearest.best.front().squared));
  return {query, nearest, place, distance < same_place ? 0 : distance};
}

MeasuredSurface::Answer MeasuredSurface::answer(const Found& found) const {
  const auto& [query, nearest, place, distance] = found;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!std::isfinite(distance)) return {0, infinity};
  if (distance == 0) return {mean_within(nearest, same_place), 0};
  if (interpolation_ == Interpolation::average) {
    Factored once;
    const double estimate =
        kriged(nearest, query, axes_, place != nullptr ? place->factored : once) *
        off_axis_correlation(query);
    return {bounded_by(nearest, estimate, 0, 0), distance};
  }
  const double faded = 1.0 / (1.0 + (distance / fade) * (distance / fade));
  const double plane = bounded_by(nearest, local_plane(nearest, query, axes_), infinity, -infinity);
  return {plane * faded, distance};
}

MeasuredSurface::Answer MeasuredSurface::at(const Point& query, SurfaceMemory* memory) const {
  return answer(find(query, memory));
}

MeasuredSurface::Answer MeasuredSurface::at_nearer(const Point& first,
                                                   const Point& second,
                                                   SurfaceMemory* memory) const {
  const Found found = find(first, memory);
  if (found.distance == 0) return answer(found);
  const Found other = find(second, memory);
  return answer(other.distance < found.distance ? other : found);
}

SurfaceMemory::Neighbourhood& SurfaceMemory::near(const MeasuredSurface::Sample* surface,
                                                  const Point& query) {
  // Enough for the operators of a model, few enough for a core's own cache.
  constexpr std::size_t places = 512;
  constexpr float cell = 0.5F;
  if (places_.empty()) places_.resize(places);
  auto hash = static_cast<std::uint64_t>(std::bit_cast<std::uintptr_t>(surface));
  for (const float coordinate : query) {
    hash =
        (hash ^ std::bit_cast<std::uint32_t>(std::floor(coordinate / cell))) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32U;
  }
  return places_[hash % places];
}

}  // namespace stepsight
