#include "cli/predicted_runs.h"

#include <cmath>
#include <map>
#include <variant>

#include "cli/links.h"
#include "cli/profiles.h"
#include "model/errors.h"
#include "model/io/run_scenario.h"
#include "simulate/host_fit.h"
#include "simulate/predict.h"

namespace stepsight {

namespace {

// What one GPU does, as far as the row says it: all but the number of GPUs and of machines.
std::string work_of(const MeasuredRun& run, const Scenario& s) {
  const Training& t = s.training;
  std::string out = error_group(run.source, run.std_gpu) + "|" + run.model;
  for (const std::int64_t n : {t.batch,
                               t.accumulation,
                               t.seq,
                               s.parallel.tensor,
                               s.parallel.pipeline,
                               s.parallel.context,
                               s.parallel.expert}) {
    out += "|" + std::to_string(n);
  }
  return out + "|" + run.precision + "|" + run.std_recompute + "|" + run.std_compile + "|" +
         run.attention;
}

class Predictor {
 public:
  Predictor(const ModelError& error, const HostCalibration& host) : error_(error), host_(host) {}

  void add(const MeasuredRun& run) {
    Validation& v = out.validation;
    ++v.rows;
    const auto answer = scenario_of(run);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) {
      ++v.refused[refusal->reason];
      return;
    }
    Scenario scenario = std::get<Scenario>(answer);
    const GpuProfile* gpu = profile(scenario.cluster.gpu);
    if (gpu == nullptr) {
      ++v.refused["no profile of " + scenario.cluster.gpu];
      return;
    }
    try {
      if (scenario.cluster.gpus > 1) scenario.cluster.facts = links_.get(scenario.cluster.link);
      add(run, scenario, *gpu);
    } catch (const UserError&) {
      ++v.refused["link " + scenario.cluster.link + " not measured for this group"];
    }
  }

  PredictedRuns out;

 private:
  // Null for a card that is not known.
  const GpuProfile* profile(const std::string& name) {
    const GpuProfile* found = profiles_.find(name);
    if (found == nullptr || host_.factor == 1) return found;
    const auto known = scaled_.find(name);
    if (known != scaled_.end()) return &known->second;
    return &scaled_.emplace(name, with_host_factor(*found, host_.factor)).first->second;
  }
  void add(const MeasuredRun& run, const Scenario& scenario, const GpuProfile& gpu) {
    const Prediction p = predict(scenario, gpu);
    Uncertainty u = uncertainty_of(scenario, gpu, p, error_);
    ValidationPoint point;
    point.id = run.id;
    point.groups = {{"source", run.source},
                    {"gpu", run.std_gpu},
                    {"model", run.model},
                    {"table", run.source_table}};
    point.measured_s = run.step_time_s;
    point.predicted_s = p.step.value;
    point.host_bound = p.host_bound;
    point.measured_peak = run.peak_memory.value_or(0);
    point.predicted_peak = p.memory.peak;
    point.interval = u.step;
    point.undoubted = run.is_complete() && run.flag.empty();
    if (scenario.cluster.gpus > 1) point.measured_exposed_s = run.exposed_s;
    point.predicted_exposed_s = p.exposed_s;
    point.gpus = scenario.cluster.gpus;
    point.work = work_of(run, scenario);
    out.samples.push_back({error_group(run.source, run.std_gpu),
                           point.work + "|" + run.source_table,
                           scenario.cluster.gpus,
                           std::log(run.step_time_s / p.step.value),
                           std::move(u)});
    out.validation.points.push_back(std::move(point));
  }

  const ModelError& error_;
  const HostCalibration& host_;
  Profiles profiles_;
  std::map<std::string, GpuProfile> scaled_;  // with the calibrated host
  Links links_;
};

}  // namespace

PredictedRuns predict_runs(const std::vector<MeasuredRun>& runs,
                           const std::string& only,
                           const ModelError& error,
                           const HostCalibration& host) {
  Predictor predictor(error, host);
  for (const MeasuredRun& run : runs) {
    if (run.id.starts_with(only) && !host.rows.contains(run.id)) predictor.add(run);
  }
  return std::move(predictor.out);
}

std::vector<ErrorSample> teaching_samples(const PredictedRuns& runs) {
  std::vector<ErrorSample> out;
  for (std::size_t i = 0; i < runs.samples.size(); ++i) {
    if (runs.validation.points[i].undoubted) out.push_back(runs.samples[i]);
  }
  return out;
}

void hold_out_groups(PredictedRuns& runs) {
  const std::vector<LogInterval> intervals = held_out_intervals(teaching_samples(runs));
  std::size_t next = 0;
  for (ValidationPoint& p : runs.validation.points) {
    if (!p.undoubted) continue;
    const LogInterval& i = intervals[next++];
    p.interval = {p.predicted_s * std::exp(i.low), p.predicted_s, p.predicted_s * std::exp(i.high)};
  }
}

}  // namespace stepsight
