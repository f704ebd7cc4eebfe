// Memory-bound passes: a group a kind.
#include "model/fit/fit_group.h"
#include "model/fit/fit_state.h"

namespace stepsight {

namespace {

// A kind that was not measured moves its bytes as a vectorised add does.
void class_pass(FitState& f, const PassInfo& row) {
  const auto add = static_cast<std::size_t>(PassKind::add);
  const bool known = !f.out.profile.pass_points[add].empty();
  PassParameters<double>& p = f.out.profile.pass[static_cast<std::size_t>(row.kind)];
  if (f.options.reference) {
    p = f.class_values.pass[static_cast<std::size_t>(row.kind)];
    record(f, "pass." + std::string(row.name), p, nullptr, 0, f.class_source);
    return;
  }
  p = known ? f.out.profile.pass[add] : class_values<PassParameters>();
  record(f,
         "pass." + std::string(row.name),
         p,
         nullptr,
         0,
         known ? "class value: as pass.add" : "class value");
}

// One point tells one rate of the bytes; the start keeps its class value, and no row or element
// costs.
Solution single_pass(const PassPoint& point) {
  PassParameters<double> p = class_values<PassParameters>();
  p.row_ns = p.element_ps = 0;
  const double busy_us = std::max(0.1 * point.time_us, point.time_us - p.overhead_us);
  p.bandwidth_TBps = bytes(point.pass).value / (busy_us * 1e6);
  Solution out;
  for (const auto& field : PassParameters<double>::fields()) {
    const bool rate = field.member == &PassParameters<double>::bandwidth_TBps;
    out.values.push_back(std::clamp(p.*field.member, field.info.lower, field.info.upper));
    out.deviations.push_back(rate ? class_value_spread * out.values.back() : 0);
    out.determined.push_back(rate);
  }
  out.converged = true;
  return out;
}

}  // namespace

void fit_passes(FitState& f) {
  f.out.profile.pass.fill(class_values<PassParameters>());
  for (const PassInfo& row : passes) {
    GroupInput<PassPoint> group;
    group.name = "pass." + std::string(row.name);
    group.op = row.name;
    for (const PassPoint& p : f.measured.passes) {
      if (p.pass.kind == row.kind) group.points.push_back(p);
    }
    if (group.points.empty()) continue;
    for (PassPoint& p : group.points) {
      if (p.filled_rows == 0) continue;
      // The table's fill is a pass of its own, fitted before (it comes first among the kinds).
      const Pass fill{PassKind::fill, p.filled_rows, p.pass.cols, p.pass.dtype};
      p.time_us = std::max(0.2 * p.time_us, p.time_us - cost(fill, f.out.profile).time.value * 1e6);
    }
    group.shape = [](const PassPoint& p) {
      return std::array<std::int64_t, 6>{
          p.pass.rows, p.pass.cols, 0, 0, 0, static_cast<std::int64_t>(p.pass.dtype)};
    };
    group.at = [](const PassPoint& p) { return surface_point(p.pass); };
    group.solve = [](const std::vector<PassPoint>& points) {
      if (points.size() == 1) return single_pass(points.front());
      return solve_passes(points, class_values<PassParameters>());
    };
    group.formula_us = [](const PassPoint& p, const std::vector<double>& values) {
      return pass_formula(p.pass, unpacked<PassParameters>(values)).value * 1e6;
    };
    GroupOutcome done = fit_group(group, f.out.points);
    const auto kind = static_cast<std::size_t>(row.kind);
    f.out.profile.pass[kind] = unpacked<PassParameters>(done.solution.values);
    f.out.profile.pass_points[kind] = std::move(done.surface);
    f.out.profile.quality.push_back(done.quality);
    record(f,
           group.name,
           f.out.profile.pass[kind],
           &done.solution,
           done.quality.fitted_points,
           sources_of(f, group.points));
  }
  for (const PassInfo& row : passes) {
    if (f.out.profile.pass_points[static_cast<std::size_t>(row.kind)].empty()) class_pass(f, row);
  }
}

}  // namespace stepsight
