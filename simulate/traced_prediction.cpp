#include "simulate/traced_prediction.h"

#include <algorithm>

#include "simulate/irregular_step.h"
#include "simulate/perturbed_trace.h"
#include "simulate/traced_program.h"

namespace stepsight {

namespace {

struct Question {
  const TracedStep& step;
  const TracedCosts& costs;
  const Scenario& scenario;
  const GpuProfile& gpu;
  TracedLinks links;

  [[nodiscard]] StepProgram program(const Without& without = {}) const {
    return build_traced_step({step, costs, scenario, gpu, links}, without);
  }
};

double seconds(const StepProgram& program, const Machine& machine) {
  Prediction out;
  read_timeline(program, run(program.program, machine), out);
  return out.step.value;
}
double seconds(const StepProgram& program) {
  return seconds(program, program.machine);
}

// One cause taken out after the other, in the order of simulate/predict.h.
Attribution attribute(const Question& question, const StepProgram& program, double actual) {
  Attribution out;
  if (program.message_bytes <= 0) {
    out.alone = actual;
    return out;
  }
  const double full_rate =
      std::min(seconds(program, step_machine(question.gpu, {.slow_down = true})), actual);
  const double silent =
      std::min(seconds(question.program({.communication = true, .slow_down = true})), full_rate);
  out.alone = std::min(seconds(question.program({.slow_down = true, .sync_copies = true})), silent);
  out.bucket_copies = silent - out.alone;
  out.exposed = full_rate - silent;
  out.slow_down = actual - full_rate;
  return out;
}

}  // namespace

Scenario alone_of_trace(Scenario scenario) {
  scenario.cluster.gpus = scenario.cluster.nodes = 1;
  scenario.cluster.link.clear();
  return scenario;
}

TracedPoint predict_traced(const TracedStep& step,
                           const Scenario& scenario,
                           const GpuProfile& gpu,
                           const GpuProfile* traced_on) {
  TracedPoint out;
  out.point.scenario = scenario;
  out.costs = cost_traced_step(step, gpu, traced_on);
  for (const IssueCount& c : step.issue) out.traced_host_s += c.seconds;

  Scenario regular = scenario;
  regular.irregular = {};
  const Question question{step, out.costs, regular, gpu, resolve_traced_links(gpu, scenario)};
  const StepProgram program = question.program();
  Prediction& p = out.point.prediction;
  read_timeline(program, run(program.program, program.machine), p);
  read_totals(program, 1, p);
  p.buckets = program.buckets;
  p.attribution = attribute(question, program, p.step.value);
  if (scenario.irregular.any()) {
    Scenario unequal = scenario;
    unequal.irregular.loader_workers = 0;
    unequal.irregular.node_samples_per_s = unequal.irregular.stall_s = 0;
    disturb(scenario, traced_step_time({step, out.costs, unequal, gpu, question.links}).step, p);
  }

  ScalingPoint& weak = out.point.weak;
  weak.one_gpu = traced_step_time({step, out.costs, alone_of_trace(scenario), gpu, {}}).step;
  weak.step = p.step;
  const auto gpus = static_cast<double>(scenario.cluster.gpus);
  weak.scaling = scaling(weak.one_gpu.value, 1, 1, p.step.value, gpus, scenario.cluster.gpus);
  return out;
}

double traced_slowdown(const TracedStep& step,
                       const GpuProfile& card,
                       const GpuProfile* card_from,
                       const GpuProfile& other,
                       const GpuProfile* other_from) {
  const auto seconds = [&](const GpuProfile& gpu, const GpuProfile* from) {
    return traced_step_time({step, cost_traced_step(step, gpu, from), Scenario{}, gpu, {}})
        .step.value;
  };
  return std::max(1.0, seconds(other, other_from) / seconds(card, card_from));
}

}  // namespace stepsight
