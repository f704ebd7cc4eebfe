// What belongs to the card and its host as a whole: copies, gaps, overlap, collectives.
#include "model/fit/fit_collectives.h"
#include "model/fit/fit_group.h"
#include "model/fit/fit_overlap.h"
#include "model/fit/fit_state.h"

namespace stepsight {

void fit_copies(FitState& f, bool to_device) {
  std::vector<CopyPoint> points;
  for (const CopyPoint& p : f.measured.copies) {
    if (p.to_device == to_device) points.push_back(p);
  }
  CopyParameters<double>& into =
      to_device ? f.out.profile.host_to_device : f.out.profile.device_to_host;
  const std::string name = to_device ? "copy.host_to_device" : "copy.device_to_host";
  into = to_device ? f.class_values.host_to_device : f.class_values.device_to_host;
  if (points.size() < 2) {
    record(f, name, into, nullptr, 0, f.class_source);
    return;
  }
  const Solution solution = solve_copies(points, into);
  into = unpacked<CopyParameters>(solution.values);
  record(f, name, into, &solution, static_cast<int>(points.size()), sources_of(f, points));
}

// The operators' own times hold a graph's gap; a stream's is longer by the difference.
void fit_launch(FitState& f) {
  std::vector<double> gaps[2];
  for (const GapPoint& p : f.measured.gaps) gaps[p.stream ? 1 : 0].push_back(p.time_us);
  f.out.profile.launch = f.class_values.launch;
  if (gaps[0].empty() || gaps[1].empty()) {
    record(f, "launch", f.out.profile.launch, nullptr, 0, f.class_source);
    return;
  }
  const auto field = LaunchParameters<double>::fields().front();
  ParameterRecord r{
      "launch." + std::string(field.info.name), 0, 0, 0, sources_of(f, f.measured.gaps)};
  r.value = std::clamp(median(gaps[1]) - median(gaps[0]), field.info.lower, field.info.upper);
  r.sd = 0.05 * r.value;
  r.points = static_cast<int>(f.measured.gaps.size());
  f.out.profile.launch.*field.member = r.value;
  f.out.profile.records.push_back(std::move(r));
}

void fit_overlap(FitState& f) {
  OverlapParameters<double>& overlap = f.out.profile.overlap;
  overlap = f.class_values.overlap;
  for (const auto& field : OverlapParameters<double>::fields()) {
    ParameterRecord r{
        "overlap." + std::string(field.info.name), overlap.*field.member, 0.05, 0, f.class_source};
    if (const auto rate =
            fit_overlap_rate(f.measured.overlaps, field.info.name, f.out.profile.multiprocessors)) {
      r.value = std::clamp(rate->value, field.info.lower, field.info.upper);
      r.sd = rate->sd;
      r.points = static_cast<int>(rate->points.size());
      r.source = sources_of(f, rate->points);
      overlap.*field.member = r.value;
    }
    f.out.profile.records.push_back(std::move(r));
  }
}

void fit_collectives(FitState& f) {
  FittedCurves fitted = stepsight::fit_collectives(f.measured, f.options.link, f.out.points);
  GpuProfile& p = f.out.profile;
  p.collectives = std::move(fitted.curves);
  p.quality.insert(p.quality.end(), fitted.quality.begin(), fitted.quality.end());
  p.records.insert(p.records.end(), fitted.records.begin(), fitted.records.end());
}

}  // namespace stepsight
