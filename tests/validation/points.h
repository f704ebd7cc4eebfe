// Rows of a table of runs, each predicted with its card's profile.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/io/profile_file.h"
#include "model/io/run_scenario.h"
#include "model/io/runs_csv.h"
#include "simulate/predict.h"
#include "simulate/validate.h"
#include "tests/catch2.h"

namespace stepsight {

inline const GpuProfile& profile_named(const std::string& name) {
  static std::map<std::string, std::unique_ptr<GpuProfile>> known;
  auto& entry = known[name];
  if (!entry) entry = std::make_unique<GpuProfile>(read_profile(name));
  return *entry;
}

// Fails the test where a row is refused. Groups: "gpu", "table".
inline std::vector<ValidationPoint> predicted_points(const std::string& file) {
  std::vector<ValidationPoint> out;
  for (const MeasuredRun& run : read_runs(STEPSIGHT_SOURCE_DIR "/tests/validation/" + file)) {
    const auto answer = scenario_of(run);
    INFO(run.id);
    REQUIRE(std::holds_alternative<Scenario>(answer));
    const Seconds step = predict_step(std::get<Scenario>(answer), profile_named(run.std_gpu));
    ValidationPoint point;
    point.id = run.id;
    point.groups = {{"gpu", run.std_gpu}, {"table", run.source_table}};
    point.measured_s = run.step_time_s;
    point.predicted_s = step.value;
    out.push_back(std::move(point));
  }
  return out;
}

// Of the points that `keep` keeps; says each should a check fail.
template <typename Keep>
ErrorSummary errors_where(const std::vector<ValidationPoint>& points, Keep keep) {
  std::vector<const ValidationPoint*> kept;
  for (const ValidationPoint& p : points) {
    if (!keep(p)) continue;
    kept.push_back(&p);
    UNSCOPED_INFO(p.id << " " << p.groups.at("gpu") << ": " << 100 * p.error() << " %");
  }
  return summarise(kept);
}

}  // namespace stepsight
