#include "cli/host_calibration.h"

#include <variant>

#include <fmt/format.h>

#include "cli/links.h"
#include "cli/profiles.h"
#include "model/errors.h"
#include "model/io/run_scenario.h"
#include "simulate/host_fit.h"

namespace stepsight {

namespace {

struct Candidate {
  const MeasuredRun* run;
  Scenario scenario;
};

std::vector<Candidate> candidates(const std::vector<MeasuredRun>& runs, const std::string& only) {
  std::vector<Candidate> out;
  for (const MeasuredRun& r : runs) {
    if (!r.id.starts_with(only) || !r.is_complete() || !r.flag.empty()) continue;
    auto answer = scenario_of(r);
    if (auto* scenario = std::get_if<Scenario>(&answer)) out.push_back({&r, std::move(*scenario)});
  }
  return out;
}

void require_one_machine(const std::vector<Candidate>& rows, std::size_t count) {
  if (rows.size() <= count) {
    throw UserError(
        fmt::format("--host-rows {}: only {} rows can be predicted; some must be left to "
                    "judge the fit by",
                    count,
                    rows.size()));
  }
  for (const Candidate& c : rows) {
    const MeasuredRun& first = *rows.front().run;
    if (c.run->source != first.source) {
      throw UserError(
          fmt::format("--host-rows stands for one machine, but the rows are of \"{}\" and "
                      "\"{}\": choose with --source",
                      first.source,
                      c.run->source));
    }
  }
  for (const Candidate& c : rows) {
    const MeasuredRun& first = *rows.front().run;
    if (c.run->std_gpu != first.std_gpu) {
      throw UserError(
          fmt::format("--host-rows stands for one machine, but the rows are of {} and {}: "
                      "choose with --only",
                      first.std_gpu,
                      c.run->std_gpu));
    }
  }
}

}  // namespace

HostCalibration calibrate_host(const std::vector<MeasuredRun>& runs,
                               const std::string& only,
                               std::size_t count) {
  const std::vector<Candidate> rows = candidates(runs, only);
  require_one_machine(rows, count);
  HostCalibration out;
  std::vector<HostRun> taken;
  Links links;
  for (const std::size_t i : spread_evenly(rows.size(), count)) {
    Scenario s = rows[i].scenario;
    if (s.cluster.gpus > 1) s.cluster.facts = links.get(s.cluster.link);
    taken.push_back({std::move(s), rows[i].run->step_time_s});
    out.rows.insert(rows[i].run->id);
  }
  Profiles profiles;
  out.factor = fit_host_factor(taken, profiles.get(rows.front().scenario.cluster.gpu));
  return out;
}

}  // namespace stepsight
