// Bounds that a search prunes by must hold for every card and every split.
#include <rapidcheck.h>

#include "model/scenario_rules.h"
#include "simulate/quick_predict.h"
#include "simulate/step_bounds.h"
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

Scenario any_split() {
  Scenario s = toy_scenario(1);
  s.training.batch = between(1, 4);
  s.training.seq = 256 * between(1, 4);
  s.training.compile = coin();
  s.training.recompute = coin() ? Recompute::full : Recompute::none;
  Parallel& p = s.parallel;
  p.tensor = 1 << between(0, 1);
  p.sequence = p.tensor > 1 && coin();
  p.overlap_tensor = coin();
  p.pipeline = 1 << between(0, 2);
  p.overlap = coin();
  if (p.pipeline > 1) {
    p.schedule = static_cast<PipelineSchedule>(between(0, 3));
    p.strategy = coin() ? Strategy::ddp : Strategy::zero1;
    if (p.schedule == PipelineSchedule::interleaved) p.chunks = 2;
  } else {
    p.strategy = std::array{Strategy::ddp,
                            Strategy::zero1,
                            Strategy::zero2,
                            Strategy::fsdp}[static_cast<std::size_t>(between(0, 3))];
  }
  s.training.accumulation = p.pipeline * between(1, 3);
  s.cluster.gpus = p.tensor * p.pipeline * (coin() ? 2 : 1);
  if (s.cluster.gpus > 8) s.cluster.gpus = p.tensor * p.pipeline;
  if (s.cluster.gpus > 1) s.cluster.link = "wire";
  return s;
}

TEST_CASE("a step is never shorter than what its priced parts prove") {
  std::size_t staged = 0;
  CHECK(rc::check([&] {
    GpuProfile gpu =
        with_busbw(with_every_collective(toy_gpu_with_host(between(0, 40))), between(1, 400));
    gpu.memory_bytes = 1e15;
    QuickPredictor predictor(gpu);
    const Scenario s = any_split();
    RC_PRE(violations(s).empty());
    const QuickPredictor::Bound bound = predictor.bound(s);
    const QuickPrediction r = predictor.predict(s);
    RC_ASSERT(bound.least.value > 0);
    RC_ASSERT(r.step.value >= bound.least.value * (1 - 1e-9));
    RC_ASSERT(bound.needed_bytes == r.needed_bytes);
    RC_ASSERT(least_memory(s, parameter_count(s.model)) <= r.needed_bytes);
    if (s.parallel.pipeline > 1) ++staged;
  }));
  CHECK(staged > 20);
}

}  // namespace
}  // namespace stepsight
