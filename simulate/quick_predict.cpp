#include "simulate/quick_predict.h"

#include "simulate/irregular_step.h"
#include "simulate/memory.h"
#include "simulate/money.h"
#include "simulate/pipeline_step.h"
#include "simulate/predict.h"
#include "simulate/steady_step.h"
#include "simulate/step_bounds.h"

namespace stepsight {

namespace {

void read(const QuickStep& step, QuickPrediction& out) {
  out.step = to_seconds(step.step);
  out.communication_s = to_seconds(step.communication).value;
  out.exposed_s = to_seconds(step.exposed).value;
  out.gpu_busy_s = to_seconds(step.busy).value;
}

void read(const StagesTime& stages, QuickPrediction& out) {
  out.step = stages.step;
  out.communication_s = stages.messages.value;
  out.gpu_busy_s = stages.busy.value;
}

}  // namespace

QuickPrediction QuickPredictor::predict(const Scenario& s) {
  const StepWork work = step_work(s);
  const StepCosts costs = cost_step(work, s.training.precision, gpu_, &cache_);
  const StepLinks links = resolve_links(gpu_, s, work, &cache_);
  const StepParts parts{work, costs, s, gpu_, links, &cache_};
  const TimedStep timed = time_step(parts);
  const Machine machine = step_machine(gpu_);

  QuickPrediction out;
  if (s.parallel.pipeline > 1) {
    read(run_stages(build_stages(parts, timed), machine), out);
  } else {
    read(SteadyStep(parts, timed).on(machine), out);
  }
  out.loader_bound = loading_time(s).value > out.step.value;
  out.step = with_waits(s, out.step);
  const auto stages = static_cast<double>(s.parallel.pipeline);
  const auto micro_steps = static_cast<double>(s.training.accumulation);
  out.samples_per_s = samples_of_step(s) / out.step.value;
  out.tokens_per_s = out.samples_per_s * static_cast<double>(s.training.seq);
  const double peak =
      gpu_.vendor_TFLOPS[static_cast<std::size_t>(s.training.precision.compute)] * 1e12;
  if (peak > 0) out.mfu = micro_steps * work.model_flops.value / stages / out.step.value / peak;
  out.host_s = timed.host_seconds / stages;
  out.host_bound = out.host_s > 0.98 * out.step.value;
  out.message_bytes = timed.message_bytes;
  const Memory memory = peak_memory_of(work, s, gpu_, exchanges_gradients(parts));
  out.needed_bytes = memory.needed;
  out.fits = memory.fits;
  return out;
}

QuickPredictor::Bound QuickPredictor::bound(const Scenario& s) {
  const StepWork work = step_work(s);
  const StepLinks links = resolve_links(gpu_, s, work, &cache_);
  const StepCosts unpriced;
  const bool synced = exchanges_gradients({work, unpriced, s, gpu_, links, &cache_});
  const Memory memory = peak_memory_of(work, s, gpu_, synced);
  Bound out{memory.needed, memory.fits, {}};
  if (!out.fits) return out;
  const StepCosts costs = cost_step(work, s.training.precision, gpu_, &cache_);
  const StepParts parts{work, costs, s, gpu_, links, &cache_};
  const TimedStep timed = time_step(parts);
  if (s.parallel.pipeline > 1) {
    const Parallel& p = s.parallel;
    out.least = least_step({p.schedule, p.pipeline, s.training.accumulation, p.chunks},
                           pipeline_costs(parts, timed));
  } else {
    out.least = least_step(parts, timed);
  }
  return out;
}

}  // namespace stepsight
