#include "simulate/predict.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "simulate/timeline.h"

namespace stepsight {

namespace {

// A steady step: from the end of the one before to its own end.
double steady_step(const StepProgram& step, const Timeline& timeline) {
  const auto end = [&](std::size_t i) { return timeline.end[index(step.step_end[i])]; };
  return to_seconds(end(step.step_end.size() - 1) - end(step.step_end.size() - 2)).value;
}

double step_seconds(const StepWork& work, const Scenario& scenario, const GpuProfile& gpu,
                    const Link& link, const Without& without) {
  const StepProgram step = build_step(work, scenario, gpu, link, without);
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

void read_timeline(const StepProgram& step, const Timeline& timeline, Prediction& out) {
  const auto end = [&](std::size_t i) { return timeline.end[index(step.step_end[i])]; };
  const std::size_t last = step.step_end.size() - 1;
  const Interval window{end(last - 1), end(last)};
  const Intervals compute =
      clipped(running(step.program, timeline, 0, LaneClass::compute), window);
  const Intervals communication =
      clipped(unite(running(step.program, timeline, 0, LaneClass::communication),
                    running(step.program, timeline, 0, LaneClass::copy)),
              window);
  out.step = to_seconds(window.end - window.begin);
  out.communication_s = to_seconds(total(communication)).value;
  out.exposed_s =
      to_seconds(total(communication) - total(intersect(compute, communication))).value;
  out.communication_share = out.communication_s / out.step.value;
  out.gpu_busy_s = to_seconds(total(compute)).value;
}

// Removes one cause after the other; each difference is that cause's part.
Attribution attribute(const StepWork& work, const Scenario& scenario, const GpuProfile& gpu,
                      const Link& link, double actual) {
  Attribution out;
  if (link.kind == Link::Kind::none) {
    out.alone = actual;
    return out;
  }
  const double full_rate = step_seconds(work, scenario, gpu, link, {.slow_down = true});
  const double silent =
      step_seconds(work, scenario, gpu, link, {.communication = true, .slow_down = true});
  out.alone = step_seconds(work, scenario, gpu, Link{}, {.sync_copies = true});
  out.bucket_copies = silent - out.alone;
  out.exposed = full_rate - silent;
  out.slow_down = actual - full_rate;
  return out;
}

double stage_activations(const StepWork& work) {
  return work.embedding.saved_bytes + static_cast<double>(work.blocks) * work.block.saved_bytes +
         work.head.saved_bytes;
}

}  // namespace

Memory memory_of(const StepWork& work, const Scenario& scenario, const GpuProfile& gpu, bool synced) {
  const Training& training = scenario.training;
  const double width = info(parameter_dtype(training.precision)).bytes;
  const auto parameters = static_cast<double>(work.parameters);
  Memory m;
  m.parameters = parameters * width;
  m.gradients = parameters * width;
  switch (training.optimizer) {
    case OptimizerKind::adamw: m.optimizer = 2 * parameters * width; break;
    case OptimizerKind::sgd_momentum: m.optimizer = parameters * width; break;
    case OptimizerKind::sgd: break;
  }
  m.activations = stage_activations(work) + std::max(work.head.peak_bytes, work.block.peak_bytes);
  m.buckets = synced ? parameters * gradient_bytes(training) : 0;
  // CUDA context and libraries take 0.5 to 1 GB; allocators leave a few per cent unused.
  m.reserve = 0.8e9 + 0.03 * (m.parameters + m.gradients + m.optimizer + m.activations);
  // Gradients come while activations go. Accumulated ones are there from the start.
  const double at_loss = m.activations + (training.accumulation > 1 ? m.gradients : 0);
  const double after_backward =
      m.gradients + std::max(work.embedding.peak_bytes, work.block.saved_bytes);
  m.peak = m.parameters + m.optimizer + m.buckets + m.reserve + std::max(at_loss, after_backward);
  m.fits = m.peak <= gpu.memory_bytes;
  const double each =
      1.03 * m.activations / static_cast<double>(std::max<std::int64_t>(training.batch, 1));
  const double room = gpu.memory_bytes - (m.peak - 1.03 * m.activations);
  m.largest_batch = room <= 0 ? 0 : static_cast<std::int64_t>(room / each);
  return m;
}

Seconds predict_step(const Scenario& scenario, const GpuProfile& gpu) {
  const StepWork work = step_work(scenario.model, scenario.training);
  const Link link = resolve_link(gpu, scenario.cluster.link, scenario.cluster.gpus);
  return Seconds{step_seconds(work, scenario, gpu, link, {})};
}

Prediction predict(const Scenario& scenario, const GpuProfile& gpu) {
  const StepWork work = step_work(scenario.model, scenario.training);
  const Link link = resolve_link(gpu, scenario.cluster.link, scenario.cluster.gpus);
  const StepProgram step = build_step(work, scenario, gpu, link);
  Prediction out;
  read_timeline(step, run(step.program, step.machine), out);

  const auto gpus = static_cast<double>(scenario.cluster.gpus);
  const auto micro_steps = static_cast<double>(scenario.training.accumulation);
  const double samples = gpus * micro_steps * static_cast<double>(scenario.training.batch);
  out.samples_per_s = samples / out.step.value;
  out.tokens_per_s = out.samples_per_s * static_cast<double>(scenario.training.seq);
  const double peak =
      gpu.vendor_TFLOPS[static_cast<std::size_t>(scenario.training.precision.compute)] * 1e12;
  out.mfu = peak > 0 ? micro_steps * work.model_flops.value / out.step.value / peak : 0;
  out.message_bytes = step.message_bytes;
  out.buckets = step.buckets;
  out.host_s = step.host_seconds;
  out.clock = step.clock;
  out.host_bound = step.host_seconds > 0.98 * out.step.value;
  double kernels = 0;
  for (std::size_t i = 0; i < step.kernel_seconds.size(); ++i) {
    kernels += step.kernel_seconds[i];
    if (step.kernel_seconds[i] > 0) {
      out.breakdown.emplace_back(static_cast<WorkKind>(i), step.kernel_seconds[i]);
    }
  }
  out.unmeasured_share = kernels > 0 ? step.unmeasured_seconds / kernels : 0;
  out.attribution = attribute(work, scenario, gpu, link, out.step.value);
  out.memory = memory_of(work, scenario, gpu, link.kind != Link::Kind::none);
  return out;
}

Scaling scaling(double base_time, double base_work, std::int64_t base_gpus, double time, double work,
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
  constexpr std::array<std::string_view, 6> names{"gemm",      "attention", "memory",
                                                  "optimizer", "sync_copy", "communication"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace stepsight
