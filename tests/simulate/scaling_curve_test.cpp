#include "simulate/scaling_curve.h"

#include "model/scenario_rules.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

namespace stepsight {

namespace {

std::vector<std::int64_t> counts(const std::vector<StudyPoint>& curve) {
  std::vector<std::int64_t> out;
  for (const StudyPoint& p : curve) out.push_back(p.scenario.cluster.gpus);
  return out;
}

}  // namespace

TEST_CASE("a curve goes from one GPU to the scenario's own count, rising, and begins at 1") {
  const GpuProfile gpu = with_every_collective(toy_gpu());
  const std::vector<StudyPoint> curve = scaling_curve(toy_scenario(8), gpu, ModelError{});
  CHECK(counts(curve) == std::vector<std::int64_t>{1, 2, 4, 8});
  CHECK(curve.front().weak.scaling.speedup == Approx(1));
  CHECK(curve.back().prediction.step.value == predict(toy_scenario(8), gpu).step.value);
  for (const StudyPoint& p : curve) CHECK(violations(p.scenario).empty());
}

TEST_CASE(
    "more GPUs than a scenario asks for are twice and four times as many, where its rules allow "
    "them") {
  const GpuProfile gpu = with_every_collective(toy_gpu());
  const ModelError error;
  CHECK(counts(larger_counts(toy_scenario(2), gpu, error)) == std::vector<std::int64_t>{4, 8});
  // One machine has room for eight; the next ones are as full.
  Scenario full = toy_scenario(4);
  for (const StudyPoint& p : larger_counts(full, gpu, error)) {
    CHECK(p.scenario.cluster.nodes == (p.scenario.cluster.gpus + 7) / 8);
  }
  full.cluster.nodes = 2;
  for (const StudyPoint& p : larger_counts(full, gpu, error)) {
    CHECK(p.scenario.cluster.nodes == p.scenario.cluster.gpus / 2);
  }
  Scenario fixed = toy_scenario(4);
  fixed.training.global_batch = 8;
  fixed.training.batch = 2;
  CHECK(counts(larger_counts(fixed, gpu, error)) == std::vector<std::int64_t>{8});
}

TEST_CASE("a curve leaves out what splits, the global batch or the link do not allow") {
  const GpuProfile gpu = with_every_collective(toy_gpu());
  Scenario split = toy_scenario(8);
  split.parallel.tensor = 4;
  CHECK(counts(scaling_curve(split, gpu, ModelError{})) == std::vector<std::int64_t>{1, 4, 8});
  Scenario fixed = toy_scenario(4);
  fixed.training.global_batch = 4;
  fixed.training.batch = 1;
  const auto curve = scaling_curve(fixed, gpu, ModelError{});
  CHECK(counts(curve) == std::vector<std::int64_t>{1, 2, 4});
  CHECK(curve[1].scenario.training.batch == 2);
}

}  // namespace stepsight
