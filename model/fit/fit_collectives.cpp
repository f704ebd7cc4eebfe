#include "model/fit/fit_collectives.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "model/class_profile.h"
#include "model/errors.h"
#include "model/fit/fit_group.h"
#include "model/timed_call.h"

namespace stepsight {

namespace {

CollectiveParameters<double> unpacked(const std::vector<double>& values) {
  CollectiveParameters<double> out{};
  std::size_t i = 0;
  for (const auto& field : CollectiveParameters<double>::fields()) out.*field.member = values[i++];
  return out;
}

std::string sources_of(const Measurements& m, const std::vector<CollectivePoint>& points) {
  std::set<std::string> names;
  for (const CollectivePoint& p : points) names.insert(m.sources[p.source]);
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

// A message takes no longer than a longer one, which it could be padded to: a point that was slower
// than that met something else (a buffer's first use, another job).
std::vector<CollectivePoint> no_slower_than_longer(std::vector<CollectivePoint> points) {
  std::ranges::sort(points, std::ranges::greater{}, &CollectivePoint::bytes);
  double least = std::numeric_limits<double>::infinity();
  for (CollectivePoint& p : points) p.time_us = least = std::min(least, p.time_us);
  return points;
}

GroupInput<CollectivePoint> group_of(const std::string& link,
                                     const std::vector<CollectivePoint>& points) {
  GroupInput<CollectivePoint> group;
  group.op = info(points.front().kind).name;
  group.type = link;
  group.name = link + "." + group.op + "." + std::to_string(points.front().ranks);
  group.points = points;
  group.shape = [](const CollectivePoint& p) {
    return std::array<std::int64_t, 6>{p.ranks, std::llround(p.bytes), 0, 0, 0, 0};
  };
  group.at = [](const CollectivePoint& p) {
    return MeasuredSurface::Point{static_cast<float>(std::log2(p.bytes))};
  };
  // The latency is that of the smallest messages, the bandwidth that of the largest.
  const auto [least, most] = std::ranges::minmax(points, {}, &CollectivePoint::bytes);
  group.needed = [least = least.bytes, most = most.bytes](const CollectivePoint& p) {
    return p.bytes <= 2 * least || p.bytes >= most / 2;
  };
  group.reconciled = no_slower_than_longer;
  CollectiveParameters<double> start = class_values<CollectiveParameters>();
  for (const CollectivePoint& p : points) {
    const double busbw = p.bytes * traffic_factor(p.kind, p.ranks) / (p.time_us * 1e3);
    start.busbw_GBps = std::max(start.busbw_GBps, busbw);
    start.latency_us = std::min(start.latency_us, p.time_us);
  }
  group.solve = [start](const std::vector<CollectivePoint>& p) {
    return solve_collective(p, start);
  };
  group.formula_us = [](const CollectivePoint& p, const std::vector<double>& values) {
    return collective_formula(p.kind, p.ranks, p.bytes, unpacked(values)).value * 1e6;
  };
  group.among_us = [](const CollectivePoint& p,
                      const std::vector<CollectivePoint>& learnt,
                      const std::vector<double>& values) {
    CollectiveCurve curve;
    curve.kind = p.kind;
    curve.ranks = p.ranks;
    curve.parameters = unpacked(values);
    std::vector<MeasuredCurve::Sample> samples;
    for (const CollectivePoint& q : learnt) {
      const Seconds formula = collective_formula(q.kind, q.ranks, q.bytes, curve.parameters);
      samples.push_back({q.bytes, std::log(q.time_us * 1e-6 / formula.value)});
    }
    curve.points = MeasuredCurve(std::move(samples));
    return cost(curve, Bytes{p.bytes}).time.value * 1e6;
  };
  return group;
}

void record(FittedCurves& out, const CollectiveCurve& curve, const GroupOutcome& done) {
  std::size_t i = 0;
  for (const auto& field : CollectiveParameters<double>::fields()) {
    ParameterRecord r;
    r.name = "collective." + done.quality.group + "." + std::string(field.info.name);
    r.value = curve.parameters.*field.member;
    const bool determined = done.solution.determined[i];
    r.sd = determined ? done.solution.deviations[i] : class_value_spread * r.value;
    r.points = determined ? done.quality.fitted_points : 0;
    r.source = determined ? curve.source : curve.source + " (not determined by them)";
    out.records.push_back(std::move(r));
    ++i;
  }
}

}  // namespace

void take_host_out(Measurements& measurements, double memory_GBps) {
  std::vector<CollectivePoint> left;
  std::map<std::uint32_t, int> dropped;
  for (CollectivePoint p : measurements.collectives) {
    const auto time =
        without_host(p.kind, Bytes{p.bytes}, Seconds{p.time_us * 1e-6}, copy_rate(memory_GBps));
    if (!time) {
      ++dropped[p.source];
      continue;
    }
    p.time_us = time->value * 1e6;
    left.push_back(p);
  }
  if (left.empty() && !measurements.collectives.empty()) {
    throw UserError("the host took most of the time of every message: give longer messages");
  }
  measurements.collectives = std::move(left);
  for (const auto& [source, count] : dropped) {
    measurements.skipped.push_back(
        measurements.sources[source] + ": " + std::to_string(count) +
        " messages say nothing of the link: the host took most of the time");
  }
}

FittedCurves fit_collectives(const Measurements& measurements,
                             const std::string& link,
                             std::vector<PointRow>& rows) {
  std::map<std::pair<CollectiveKind, std::int64_t>, std::vector<CollectivePoint>> sweeps;
  for (const CollectivePoint& p : measurements.collectives) {
    if (p.ranks > 1) sweeps[{p.kind, p.ranks}].push_back(p);
  }
  if (!sweeps.empty() && link.empty()) {
    throw UserError(
        "collective sweeps were given: name the link they were measured on with --link");
  }
  FittedCurves out;
  for (const auto& [key, points] : sweeps) {
    const std::size_t first_row = rows.size();
    GroupOutcome done = fit_group(group_of(link, points), rows);
    std::vector<MeasuredCurve::Sample> samples;
    for (std::size_t i = first_row; i < rows.size(); ++i) {
      samples.push_back({static_cast<double>(rows[i].shape[1]), rows[i].log_residual});
    }
    CollectiveCurve curve;
    curve.link = link;
    curve.kind = key.first;
    curve.ranks = key.second;
    curve.parameters = unpacked(done.solution.values);
    curve.points = MeasuredCurve(std::move(samples));
    curve.source = sources_of(measurements, points);
    out.quality.push_back(done.quality);
    out.held_out_errors.push_back(std::move(done.held_out_errors));
    record(out, curve, done);
    out.curves.push_back(std::move(curve));
  }
  return out;
}

FittedLink fit_link(const Measurements& measurements, const LinkDescription& description) {
  const auto link_class = parse_link_class(description.link_class);
  if (!link_class) {
    throw UserError("'" + description.link_class +
                    "' is no link class; give one with --link-class, such as pcie4-x16-nop2p, "
                    "nvlink3-nvswitch or nvlink4-nvswitch+8x400G-ib");
  }
  FittedLink out;
  FittedCurves curves = fit_collectives(measurements, description.name, out.points);
  if (curves.curves.empty())
    throw UserError("the measurement files hold no collective over 2 ranks or more");
  MeasuredLink& link = out.link;
  link.name = description.name;
  link.title = description.title;
  link.link_class = *link_class;
  link.link_class_name = description.link_class;
  link.gpus_per_node = description.gpus_per_node;
  link.curves = std::move(curves.curves);
  link.quality = std::move(curves.quality);
  link.sources = measurements.sources;
  out.records = std::move(curves.records);
  return out;
}

}  // namespace stepsight
