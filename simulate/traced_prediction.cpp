#include "simulate/traced_prediction.h"

#include <algorithm>

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

TracedPoint predict_traced(const TracedStep& step,
                           const Scenario& scenario,
                           const GpuProfile& gpu,
                           const GpuProfile* traced_on) {
  TracedPoint out;
  out.point.scenario = scenario;
  out.costs = cost_traced_step(step, gpu, traced_on);
  for (const IssueCount& c : step.issue) out.traced_host_s += c.seconds;

  const Question question{step, out.costs, scenario, gpu, resolve_traced_links(gpu, scenario)};
  const StepProgram program = question.program();
  Prediction& p = out.point.prediction;
  read_timeline(program, run(program.program, program.machine), p);
  read_totals(program, 1, p);
  p.buckets = program.buckets;
  p.attribution = attribute(question, program, p.step.value);

  const Question alone{step, out.costs, scenario, gpu, {}};
  ScalingPoint& weak = out.point.weak;
  weak.one_gpu = Seconds{seconds(alone.program())};
  weak.step = p.step;
  const auto gpus = static_cast<double>(scenario.cluster.gpus);
  weak.scaling =
      scaling(weak.one_gpu.value, 1, 1, p.step.value, gpus, scenario.cluster.gpus);
  return out;
}

}  // namespace stepsight
