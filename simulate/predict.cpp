#include "simulate/predict.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "simulate/irregular_step.h"
#include "simulate/pipeline_step.h"
#include "simulate/step_time.h"
#include "simulate/timeline.h"

namespace stepsight {

namespace {

// A steady step: from the end of the one before to its own end.
double steady_step(const StepProgram& step, const Timeline& timeline) {
  const auto end = [&](std::size_t i) { return timeline.end[index(step.step_end[i])]; };
  return to_seconds(end(step.step_end.size() - 1) - end(step.step_end.size() - 2)).value;
}

// One step of one scenario, and what it costs: everything that a program is built from.
struct Question {
  const Scenario& scenario;
  const GpuProfile& gpu;
  StepWork work;
  StepCosts costs;
  StepLinks links;

  Question(const Scenario& s, const GpuProfile& g)
      : scenario(s),
        gpu(g),
        work(step_work(s)),
        costs(cost_step(work, s.training.precision, g)),
        links(resolve_links(g, s, work)) {}

  [[nodiscard]] StepProgram program(const Without& without = {}) const {
    return build_step(parts(), without);
  }
  [[nodiscard]] bool staged() const { return scenario.parallel.pipeline > 1; }
  [[nodiscard]] bool synchronises() const { return exchanges_gradients(parts()); }
  // Messages of any kind.
  [[nodiscard]] bool communicates() const {
    const Parallel& p = scenario.parallel;
    return synchronises() || p.tensor * p.context * p.expert > 1 || p.offload != Offload::none;
  }
  [[nodiscard]] StepParts parts() const { return {work, costs, scenario, gpu, links}; }
};

double step_seconds(const StepProgram& step) {
  return steady_step(step, run(step.program, step.machine));
}

Intervals clipped(Intervals intervals, Interval window) {
  for (Interval& i : intervals) {
    i.begin = std::max(i.begin, window.begin);
    i.end = std::min(i.end, window.end);
  }
  std::erase_if(intervals, [](Interval i) { return i.begin >= i.end; });
  return intervals;
}

}  // namespace

void read_timeline(const StepProgram& step, const Timeline& timeline, Prediction& out) {
  const auto end = [&](std::size_t i) { return timeline.end[index(step.step_end[i])]; };
  const std::size_t last = step.step_end.size() - 1;
  const Interval window{end(last - 1), end(last)};
  const Intervals compute = clipped(running(step.program, timeline, 0, LaneClass::compute), window);
  const Intervals communication =
      clipped(unite(running(step.program, timeline, 0, LaneClass::communication),
                    running(step.program, timeline, 0, LaneClass::copy)),
              window);
  out.step = to_seconds(window.end - window.begin);
  out.communication_s = to_seconds(total(communication)).value;
  out.exposed_s = to_seconds(total(communication) - total(intersect(compute, communication))).value;
  out.communication_share = out.communication_s / out.step.value;
  out.gpu_busy_s = to_seconds(total(compute)).value;
}

void read_totals(const StepTotals& totals, std::int64_t stages, Prediction& out) {
  const auto parts = static_cast<double>(stages);
  out.message_bytes = totals.message_bytes;
  out.host_s = totals.host_seconds / parts;
  out.clock = totals.clock;
  out.host_bound = out.host_s > 0.98 * out.step.value;
  double kernels = 0;
  for (std::size_t i = 0; i < totals.kernel_seconds.size(); ++i) {
    kernels += totals.kernel_seconds[i];
    if (totals.kernel_seconds[i] > 0) {
      out.breakdown.emplace_back(static_cast<WorkKind>(i), totals.kernel_seconds[i] / parts);
    }
  }
  out.unmeasured_share = kernels > 0 ? totals.unmeasured_seconds / kernels : 0;
}

namespace {

// Removes one cause after the other; each difference is that cause's part. `step` is the program
// with all of them.
Attribution attribute(const Question& question, const StepProgram& step, double actual) {
  Attribution out;
  if (!question.communicates()) {
    out.alone = actual;
    return out;
  }
  const Machine at_full_rate = step_machine(question.gpu, {.slow_down = true});
  // Now and then a step is shorter with a cause than without: work that comes later finds a quieter
  // moment. That is no part below nothing, but none.
  const double full_rate =
      std::min(steady_step(step, run(step.program, at_full_rate)), actual);
  const double silent = std::min(
      step_seconds(question.program({.communication = true, .slow_down = true})), full_rate);
  out.alone = std::min(step_seconds(question.program(
                           {.communication = true, .slow_down = true, .sync_copies = true})),
                       silent);
  out.bucket_copies = silent - out.alone;
  out.exposed = full_rate - silent;
  out.slow_down = actual - full_rate;
  return out;
}

}  // namespace

StepTime step_time(const StepParts& parts) {
  if (parts.scenario.parallel.pipeline > 1) {
    TimedStep timed = time_step(parts);
    const Seconds step = run_stages(build_stages(parts, timed), step_machine(parts.gpu)).step;
    return {with_waits(parts.scenario, step), std::move(timed)};
  }
  StepProgram step = build_step(parts);
  const Seconds simulated{step_seconds(step)};
  return {with_waits(parts.scenario, simulated), std::move(step)};
}

namespace {

struct StagesAtFullRate {
  StagesTime with, without;  // messages
};
StagesAtFullRate stages_at_full_rate(const StepParts& parts, const PipelineProgram& program) {
  const Machine machine = step_machine(parts.gpu, {.slow_down = true});
  const Without messages{.communication = true};
  return {run_stages(program, machine),
          run_stages(build_stages(parts, time_step(parts, messages), messages), machine)};
}

}  // namespace

double exposed_time(const StepParts& parts) {
  if (parts.scenario.parallel.pipeline > 1) {
    const auto [with, without] = stages_at_full_rate(parts, build_stages(parts, time_step(parts)));
    return std::max(0.0, (with.step - without.step).value);
  }
  const StepProgram step = build_step(parts);
  Prediction out;
  read_timeline(step, run(step.program, step.machine), out);
  return out.exposed_s;
}

Seconds predict_step(const Scenario& scenario, const GpuProfile& gpu) {
  return step_time(Question(scenario, gpu).parts()).step;
}

namespace {

// One cause after the other, as attribute() does; what is left of a step without messages is the
// stage that computes longest, and the wait for the others.
void read_stages(const StepParts& parts, const TimedStep& timed, Prediction& out) {
  const PipelineProgram program = build_stages(parts, timed);
  const StagesTime actual = run_stages(program, step_machine(parts.gpu));
  auto [full_rate, silent] = stages_at_full_rate(parts, program);
  full_rate.step = std::min(full_rate.step, actual.step);
  silent.step = std::min(silent.step, full_rate.step);
  silent.busy = std::min(silent.busy, silent.step);
  out.step = actual.step;
  out.gpu_busy_s = actual.busy.value;
  out.communication_s = actual.messages.value;
  out.communication_share = out.communication_s / out.step.value;
  out.attribution.alone = silent.busy.value;
  out.attribution.bubble = (silent.step - silent.busy).value;
  out.attribution.exposed = (full_rate.step - silent.step).value;
  out.attribution.slow_down = (actual.step - full_rate.step).value;
  out.exposed_s = out.attribution.exposed;
}

Prediction predict_regular(const Scenario& scenario, const GpuProfile& gpu) {
  const Question question(scenario, gpu);
  Prediction out;
  if (question.staged()) {
    const StepParts parts = question.parts();
    const TimedStep timed = time_step(parts);
    read_stages(parts, timed, out);
    read_totals(timed, scenario.parallel.pipeline, out);
    out.buckets = static_cast<std::uint32_t>(timed.buckets.size());
  } else {
    const StepProgram step = question.program();
    read_timeline(step, run(step.program, step.machine), out);
    read_totals(step, 1, out);
    out.buckets = step.buckets;
    out.attribution = attribute(question, step, out.step.value);
  }

  const StepWork& work = question.work;
  const auto stages = static_cast<double>(scenario.parallel.pipeline);
  const auto gpus = static_cast<double>(data_parallel(scenario));
  const auto micro_steps = static_cast<double>(scenario.training.accumulation);
  const double samples = gpus * micro_steps * static_cast<double>(scenario.training.batch);
  out.samples_per_s = samples / out.step.value;
  out.tokens_per_s = out.samples_per_s * static_cast<double>(scenario.training.seq);
  const double peak =
      gpu.vendor_TFLOPS[static_cast<std::size_t>(scenario.training.precision.compute)] * 1e12;
  out.mfu = peak > 0 ? micro_steps * work.model_flops.value / stages / out.step.value / peak : 0;
  out.memory = memory_of(work, scenario, gpu, question.synchronises());
  return out;
}

}  // namespace

Prediction predict(const Scenario& scenario, const GpuProfile& gpu) {
  if (!scenario.irregular.any()) return predict_regular(scenario, gpu);
  Scenario regular = scenario;
  regular.irregular = {};
  Prediction out = predict_regular(regular, gpu);
  Scenario unequal = regular;
  unequal.irregular.slow_factor = scenario.irregular.slow_factor;
  unequal.irregular.batch_imbalance = scenario.irregular.batch_imbalance;
  unequal.irregular.jitter = scenario.irregular.jitter;
  disturb(scenario, predict_step(unequal, gpu), out);
  return out;
}

Scaling scaling(double base_time,
                double base_work,
                std::int64_t base_gpus,
                double time,
                double work,
                std::int64_t gpus) {
  Scaling s;
  s.speedup = (work / time) / (base_work / base_time);
  s.efficiency = s.speedup * static_cast<double>(base_gpus) / static_cast<double>(gpus);
  return s;
}

std::optional<Scenario> strong_scaling_of(const Scenario& base, std::int64_t gpus) {
  Scenario out = base;
  out.cluster.gpus = gpus;
  std::int64_t share = gpus;
  if (share % base.cluster.gpus != 0) return std::nullopt;
  share /= base.cluster.gpus;
  const std::int64_t fewer = std::gcd(share, out.training.accumulation);
  out.training.accumulation /= fewer;
  share /= fewer;
  if (out.training.batch % share != 0) return std::nullopt;
  out.training.batch /= share;
  return out;
}

std::string_view name_of(WorkKind kind) {
  constexpr std::array<std::string_view, 6> names{
      "gemm", "attention", "memory", "optimizer", "sync_copy", "communication"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace stepsight
