// The quick walk of a step against the engine, which runs the step's program: the same to the
// picosecond.
#include <rapidcheck.h>

#include "simulate/quick_predict.h"
#include "simulate/quick_step.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

namespace stepsight {
namespace {

int between(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}
bool coin() {
  return between(0, 1) == 1;
}

Scenario any_step() {
  Scenario s = toy_scenario(1);
  s.model.layers = between(1, 6);
  s.model.tied_head = coin();
  s.training.batch = between(1, 8);
  s.training.seq = 64 * between(1, 16);
  s.training.accumulation = between(1, 3);
  s.training.precision =
      precisions[static_cast<std::size_t>(between(0, static_cast<int>(precisions.size()) - 1))]
          .precision;
  s.training.compile = coin();
  s.training.fused_kernels = coin();
  s.training.fused_optimizer = coin();
  s.training.optimizer = static_cast<OptimizerKind>(between(0, 2));
  if (coin()) {
    s.training.recompute = Recompute::full;
    s.training.recompute_layers = between(0, static_cast<int>(s.model.layers));
  }
  s.parallel.bucket_cap_MB = between(1, 100);
  s.parallel.overlap = coin();
  s.parallel.sync_each_micro_step = coin();
  s.parallel.strategy = std::array{
      Strategy::ddp, Strategy::zero1, Strategy::zero2}[static_cast<std::size_t>(between(0, 2))];
  s.parallel.tensor = 1 << between(0, 1);
  s.parallel.overlap_tensor = false;
  s.parallel.sequence = s.parallel.tensor > 1 && coin();
  s.cluster.gpus = s.parallel.tensor * (1 << between(0, 2));
  if (s.parallel.tensor == 1 && coin()) {
    s.model.experts = 4;
    s.model.experts_per_token = between(1, 2);
    s.model.expert_ffn = 512;
    s.model.shared_experts = between(0, 1);
    s.parallel.expert = std::min<std::int64_t>(s.cluster.gpus, 1 << between(0, 2));
    s.parallel.expert_imbalance = 1 + 0.1 * between(0, 5);
  }
  if (s.cluster.gpus > 1) s.cluster.link = "wire";
  if (s.cluster.gpus == 1 && coin()) {
    s.parallel.strategy = Strategy::ddp;
    s.cluster.link = "loopback:" + std::to_string(between(1, 4));
  }
  return s;
}

// A card with any host, link and interference.
GpuProfile any_card() {
  GpuProfile gpu = with_every_collective(toy_gpu_with_host(between(0, 40)));
  gpu = with_busbw(gpu, between(1, 400));
  for (const auto& field : OverlapParameters<double>::fields()) {
    gpu.overlap.*field.member = 0.05 * between(10, 20);
  }
  return gpu;
}

TEST_CASE("the quick walk of a step takes what the engine takes") {
  std::size_t followed = 0;
  CHECK(rc::check([&] {
    const GpuProfile gpu = any_card();
    const Scenario s = any_step();
    const StepWork work = step_work(s);
    const StepCosts costs = cost_step(work, s.training.precision, gpu);
    const StepLinks links = resolve_links(gpu, s, work);
    const StepParts parts{work, costs, s, gpu, links};
    const StepProgram program = build_step(parts);
    const auto quick = quick_step(parts, time_step(parts), program.machine);
    if (!quick) return;
    ++followed;
    RC_ASSERT(quick->step == last_step(program));
    Prediction seen;
    read_timeline(program, run(program.program, program.machine), seen);
    RC_ASSERT(to_seconds(quick->communication).value == seen.communication_s);
    RC_ASSERT(to_seconds(quick->exposed).value == seen.exposed_s);
    RC_ASSERT(to_seconds(quick->busy).value == seen.gpu_busy_s);
  }));
  CHECK(followed > 80);
}

TEST_CASE("what was priced before is priced the same again") {
  CHECK(rc::check([] {
    const GpuProfile gpu = any_card();
    QuickPredictor predictor(gpu);
    for (int i = 0; i < 4; ++i) {
      const Scenario s = any_step();
      const QuickPrediction quick = predictor.predict(s);
      const Prediction slow = predict(s, gpu);
      RC_ASSERT(quick.step.value == slow.step.value);
      RC_ASSERT(quick.tokens_per_s == slow.tokens_per_s);
      RC_ASSERT(quick.mfu == slow.mfu);
      RC_ASSERT(quick.needed_bytes == slow.memory.needed);
      RC_ASSERT(quick.fits == slow.memory.fits);
      RC_ASSERT(quick.host_bound == slow.host_bound);
    }
  }));
}

}  // namespace
}  // namespace stepsight
