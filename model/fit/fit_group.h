// One group of points that share a formula: fits its parameters on four fifths of the shapes,
// states the error on both parts, and lays all points over the formula.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/fit/fit_profile.h"
#include "model/fit/solve.h"
#include "model/measured_surface.h"
#include "model/profile.h"

namespace stepsight {

double median(std::vector<double> values);
double percentile(std::vector<double> values, double fraction);

struct GroupOutcome {
  Solution solution;
  FitQuality quality;
  std::vector<double> held_out_errors;  // |predicted / measured - 1|, one a shape
  MeasuredSurface surface;
};

// What a group is made of, for any kind of point.
template <typename Point>
struct GroupInput {
  std::string name;
  std::string op;
  std::string type;
  std::vector<Point> points;
  Interpolation interpolation = Interpolation::plane;
  double judged_from_us = 0;  // shorter points are fitted, but say nothing about steps
  std::function<std::array<std::int64_t, 6>(const Point&)> shape;
  std::function<MeasuredSurface::Point(const Point&)> at;
  std::function<Solution(const std::vector<Point>&)> solve;
  // Points that are never held out, such as the ends of a range, without which a formula would have
  // to guess; empty: none.
  std::function<bool(const Point&)> needed;
  // What is learnt from points, one a shape, where their times contradict each other; empty: all as
  // they are. What is held out is judged as it was measured.
  std::function<std::vector<Point>(std::vector<Point>)> reconciled;
  // Formula time in us with solved values.
  std::function<double(const Point&, const std::vector<double>&)> formula_us;
  // Time in us of a point among those learnt from; empty: the formula times the surface.
  std::function<double(const Point&, const std::vector<Point>&, const std::vector<double>&)>
      among_us;
};

// One point a shape: repeats (and the same operator with and without its data in the cache) become
// their geometric mean.
template <typename Point>
std::vector<Point> merged(const GroupInput<Point>& group, const std::vector<Point>& points) {
  std::map<std::array<std::int64_t, 6>, std::pair<Point, int>> shapes;
  for (const Point& p : points) {
    auto [entry, first] = shapes.try_emplace(group.shape(p), p, 1);
    if (first) continue;
    auto& [mean, count] = entry->second;
    mean.time_us = std::exp((std::log(mean.time_us) * count + std::log(p.time_us)) / (count + 1));
    ++count;
  }
  std::vector<Point> out;
  out.reserve(shapes.size());
  for (auto& [shape, mean] : shapes) out.push_back(mean.first);
  return out;
}

// merged(), and reconciled where the group says how.
template <typename Point>
std::vector<Point> learnt_from(const GroupInput<Point>& group, const std::vector<Point>& points) {
  std::vector<Point> out = merged(group, points);
  return group.reconciled ? group.reconciled(std::move(out)) : out;
}

template <typename Point>
MeasuredSurface surface_of(const GroupInput<Point>& group,
                           const std::vector<Point>& points,
                           const std::vector<double>& values) {
  std::vector<MeasuredSurface::Sample> samples;
  samples.reserve(points.size());
  for (const Point& p : points) {
    samples.push_back(
        {group.at(p), static_cast<float>(std::log(p.time_us / group.formula_us(p, values)))});
  }
  return MeasuredSurface(std::move(samples), group.interpolation);
}

template <typename Point>
std::vector<double> errors_of(const GroupInput<Point>& group,
                              const std::vector<Point>& points,
                              const std::vector<double>& values,
                              const MeasuredSurface& surface) {
  std::vector<double> out;
  for (const Point& p : points) {
    if (p.time_us < group.judged_from_us) continue;
    const double predicted =
        group.formula_us(p, values) * std::exp(surface.at(group.at(p)).log_residual);
    out.push_back(std::abs(predicted / p.time_us - 1));
  }
  return out;
}

template <typename Point>
std::vector<double> held_out_errors(const GroupInput<Point>& group,
                                    const std::vector<Point>& points,
                                    const std::vector<Point>& learnt,
                                    const std::vector<double>& values) {
  if (!group.among_us) return errors_of(group, points, values, surface_of(group, learnt, values));
  std::vector<double> out;
  for (const Point& p : points)
    out.push_back(std::abs(group.among_us(p, learnt, values) / p.time_us - 1));
  return out;
}

template <typename Point>
GroupOutcome fit_group(const GroupInput<Point>& group, std::vector<PointRow>& rows) {
  std::vector<Point> fitted;
  std::vector<Point> kept;
  for (const Point& p : group.points) {
    const bool needed = group.needed && group.needed(p);
    (held_out(group.shape(p)) && !needed ? kept : fitted).push_back(p);
  }
  if (fitted.empty()) std::swap(fitted, kept);

  if (group.reconciled) fitted = learnt_from(group, fitted);

  GroupOutcome out;
  out.solution = group.solve(fitted);
  const std::vector<double>& values = out.solution.values;
  out.quality.group = group.name;
  out.quality.fitted_points = static_cast<int>(fitted.size());
  out.quality.held_out_points = static_cast<int>(kept.size());
  out.quality.fitted_median_error = median(errors_of(group, fitted, values, MeasuredSurface{}));
  if (!kept.empty()) {
    out.held_out_errors =
        held_out_errors(group, merged(group, kept), learnt_from(group, fitted), values);
    out.quality.held_out_median_error = median(out.held_out_errors);
    out.quality.held_out_p90_error = percentile(out.held_out_errors, 0.9);
  }
  const std::vector<Point> all = learnt_from(group, group.points);
  out.surface = surface_of(group, all, values);
  for (const Point& p : all) {
    rows.push_back({group.op,
                    group.type,
                    group.shape(p),
                    p.time_us,
                    std::log(p.time_us / group.formula_us(p, values))});
  }
  return out;
}

}  // namespace stepsight
