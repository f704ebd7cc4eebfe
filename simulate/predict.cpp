#include "simulate/predict.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "simulate/irregular_step.h"
#include "simulate/pipeline_step.h"
#include "simulate/steady_step.h"
#include "simulate/step_time.h"

namespace stepsight {

namespace {

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

  [[nodiscard]] bool staged() const { return scenario.parallel.pipeline > 1; }
  [[nodiscard]] bool synchronises() const { return exchanges_gradients(parts()); }
  // Messages of any kind.
  [[nodiscard]] bool communicates() const {
    const Parallel& p = scenario.parallel;
    return synchronises() || p.tensor * p.context * p.expert > 1 || p.offload != Offload::none;
  }
  [[nodiscard]] StepParts parts() const { return {work, costs, scenario, gpu, links}; }
};

void read_step(const QuickStep& step, Prediction& out) {
  out.step = to_seconds(step.step);
  out.communication_s = to_seconds(step.communication).value;
  out.exposed_s = to_seconds(step.exposed).value;
  out.communication_share = out.communication_s / out.step.value;
  out.gpu_busy_s = to_seconds(step.busy).value;
}

}  // namespace

void read_timeline(const StepProgram& step, const Timeline& timeline, Prediction& out) {
  read_step(last_step(step, timeline), out);
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

// Removes one cause after the other; each difference is that cause's part. `step` has all of them.
Attribution attribute(const Question& question, SteadyStep& step, double actual) {
  Attribution out;
  if (!question.communicates()) {
    out.alone = actual;
    return out;
  }
  const StepParts parts = question.parts();
  const Machine at_full_rate = step_machine(question.gpu, {.slow_down = true});
  const auto seconds = [&](SteadyStep& asked) {
    return to_seconds(asked.on(at_full_rate).step).value;
  };
  const auto seconds_without = [&](const Without& without) {
    const TimedStep timed = time_step(parts, without);
    SteadyStep silent(parts, timed);
    return seconds(silent);
  };
  // Now and then a step is shorter with a cause than without: work that comes later finds a quieter
  // moment. That is no part below nothing, but none.
  const double full_rate = std::min(seconds(step), actual);
  const double silent =
      std::min(seconds_without({.communication = true, .slow_down = true}), full_rate);
  out.alone = std::min(
      seconds_without({.communication = true, .slow_down = true, .sync_copies = true}), silent);
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
  TimedStep timed = time_step(parts);
  const Seconds simulated = to_seconds(SteadyStep(parts, timed).on(step_machine(parts.gpu)).step);
  return {with_waits(parts.scenario, simulated), std::move(timed)};
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
  const TimedStep timed = time_step(parts);
  return to_seconds(SteadyStep(parts, timed).on(step_machine(parts.gpu)).exposed).value;
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
  const StepParts step_parts = question.parts();
  const TimedStep timed = time_step(step_parts);
  if (question.staged()) {
    read_stages(step_parts, timed, out);
  } else {
    SteadyStep step(step_parts, timed);
    read_step(step.on(step_machine(gpu)), out);
    out.attribution = attribute(question, step, out.step.value);
  }
  read_totals(timed, scenario.parallel.pipeline, out);
  out.buckets = static_cast<std::uint32_t>(timed.buckets.size());

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
