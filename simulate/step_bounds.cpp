#include "simulate/step_bounds.h"

#include <algorithm>

#include "model/moe.h"
#include "model/parallel_layout.h"
#include "simulate/memory.h"

namespace stepsight {

namespace {

double seconds(const Timed& t) {
  return to_seconds(t.kernel).value;
}

double sum(const std::vector<Timed>& list) {
  double out = 0;
  for (const Timed& t : list) out += seconds(t);
  return out;
}

// Messages that no kernel runs beside.
double blocking(const std::vector<TimedExchange>& exchanges) {
  double out = 0;
  for (const TimedExchange& e : exchanges) {
    if (e.beside == 0) out += seconds(e.message);
  }
  return out;
}

double of_stage(const TimedStage& stage) {
  return sum(stage.forward) + sum(stage.backward) + blocking(stage.forward_exchanges) +
         blocking(stage.backward_exchanges);
}

}  // namespace

Seconds least_step(const StepParts& parts, const TimedStep& timed) {
  const Training& t = parts.scenario.training;
  const auto micro_steps = static_cast<double>(t.accumulation);
  const auto blocks = static_cast<double>(parts.work.blocks);
  const auto kept = static_cast<double>(parts.work.kept_blocks);
  // A kept block runs forward as the others do.
  const double kept_block = parts.work.kept_blocks == 0
                                ? 0
                                : sum(timed.kept_block.backward) + sum(timed.block.forward) +
                                      blocking(timed.block.forward_exchanges) +
                                      blocking(timed.kept_block.backward_exchanges);
  const double compute =
      micro_steps * (of_stage(timed.embedding) + of_stage(timed.head) +
                     (blocks - kept) * of_stage(timed.block) + kept * kept_block) +
      seconds(timed.optimizer);
  double messages = sum(timed.bucket);
  const TimedUnits& u = timed.units;
  if (u.count > 0) {
    const auto units = static_cast<double>(u.count - 1);
    messages = seconds(u.root.gather) + seconds(u.root.scatter) + seconds(u.last.gather) +
               seconds(u.last.scatter) +
               units * (seconds(u.block.gather) + seconds(u.block.scatter));
  }
  return Seconds{std::max(compute, messages)};
}

Seconds least_step(const PipelineShape& shape, const PipelineCosts& costs) {
  const auto micro_batches = static_cast<double>(shape.micro_batches);
  const bool halves = shape.schedule == PipelineSchedule::zero_bubble;
  double most = 0;
  double update = 0;
  double before = 0, after = 0;
  for (const PipelineStageCosts& stage : costs.stages) {
    double all = 0, input = 0;
    for (const PipelineChunkCosts& c : stage.chunks) {
      all += (c.forward + c.input_gradient + c.weight_gradient).value;
      input += (c.forward + c.input_gradient).value;
    }
    if (halves) {
      // The last gradients of weights may come while the stages before run their backward.
      most = std::max({most, before + micro_batches * all, before + micro_batches * input + after});
    } else {
      most = std::max(most, before + micro_batches * all + after);
    }
    update = std::max(update, stage.optimizer.value);
    const PipelineChunkCosts& first = stage.chunks.front();
    before += first.forward.value;
    after += first.input_gradient.value;
    if (!halves) after += first.weight_gradient.value;
  }
  return Seconds{most + (costs.global_norm ? update : 0)};
}

Seconds least_step(double model_flops, const Scenario& s, const GpuProfile& gpu) {
  // No product is faster than the fastest format that the step multiplies in.
  const Dtype fastest = s.training.fp8 ? Dtype::fp8 : s.training.precision.compute;
  const double peak = gpu.vendor_TFLOPS[static_cast<std::size_t>(fastest)] * 1e12;
  if (peak <= 0) return Seconds{0};
  return Seconds{model_flops / (peak * static_cast<double>(s.cluster.gpus))};
}

double least_memory(const Scenario& s, std::int64_t parameters) {
  const double elsewhere =
      s.parallel.expert > 1
          ? expert_parameters(s.model) * (1 - 1 / static_cast<double>(s.parallel.expert))
          : 0;
  const double share = (static_cast<double>(parameters) - elsewhere) /
                       static_cast<double>(s.parallel.tensor * s.parallel.pipeline);
  const auto shards = static_cast<double>(axis_size(s, Axis::shard));
  const StateWidths w = state_widths(s);
  const Strategy strategy = s.parallel.strategy;
  const Offload offload = s.parallel.offload;
  double bytes = 0;
  if (offload != Offload::parameters) {
    bytes += share * w.parameter / (shards_parameters(strategy) ? shards : 1);
  }
  if (updates_on_host(offload)) return bytes;
  bytes += share * w.optimizer / (shards_optimizer(strategy) ? shards : 1);
  if (s.training.accumulation > 1) {
    bytes += share * w.gradient / (shards_gradients(strategy) ? shards : 1);
  }
  return bytes;
}

}  // namespace stepsight
