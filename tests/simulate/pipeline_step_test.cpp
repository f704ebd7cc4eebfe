// A scenario whose blocks are dealt out to stages: parts that add up, bubbles, work that is
// conserved.
#include "simulate/pipeline_step.h"

#include "model/scenario_rules.h"
#include "simulate/predict.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

using namespace stepsight;

namespace {

GpuProfile quiet_gpu() {
  GpuProfile gpu = with_every_collective(toy_gpu_with_host(0));
  for (const auto& field : OverlapParameters<double>::fields()) gpu.overlap.*field.member = 1;
  return gpu;
}

Scenario staged(std::int64_t stages, std::int64_t micro_batches) {
  Scenario s = toy_scenario(stages);
  s.training.batch = 1;
  s.training.accumulation = micro_batches;
  s.parallel.pipeline = stages;
  return s;
}

}  // namespace

TEST_CASE("a pipelined step's parts add up, and each is at least nothing") {
  const GpuProfile gpu = quiet_gpu();
  for (const std::int64_t stages : {2, 4, 8}) {
    const Prediction p = predict(staged(stages, 16), gpu);
    const Attribution& a = p.attribution;
    CHECK(a.alone + a.bubble + a.exposed + a.slow_down == Approx(p.step.value));
    CHECK(a.alone > 0);
    CHECK(a.bubble > 0);
    CHECK(a.exposed >= 0);
  }
}

TEST_CASE("the bubble is what a pipeline waits where messages take no time, whatever the link") {
  const Scenario s = staged(4, 16);
  const Prediction fast = predict(s, with_busbw(quiet_gpu(), 1000));
  const Prediction slow = predict(s, with_busbw(quiet_gpu(), 1));
  CHECK(slow.attribution.bubble == fast.attribution.bubble);
  CHECK(slow.attribution.alone == fast.attribution.alone);
  CHECK(slow.attribution.exposed > fast.attribution.exposed);
}

TEST_CASE("more micro-batches make the bubble a smaller share") {
  const GpuProfile gpu = quiet_gpu();
  double before = 1;
  for (const std::int64_t micro_batches : {4, 8, 32, 128}) {
    const Prediction p = predict(staged(4, micro_batches), gpu);
    const double share = p.attribution.bubble / p.step.value;
    CHECK(share < before);
    before = share;
  }
}

TEST_CASE("stages together do no less than one GPU's passes") {
  const GpuProfile gpu = quiet_gpu();
  Scenario one = staged(1, 16);
  const double alone = predict_step(one, gpu).value;
  for (const std::int64_t stages : {2, 4, 8}) {
    const double step = predict_step(staged(stages, 16), gpu).value;
    CHECK(step * static_cast<double>(stages) > alone);
    CHECK(step < alone);
  }
}

TEST_CASE("a scenario says which pipelines cannot be") {
  Scenario s = staged(2, 4);
  s.parallel.pipeline = 9;
  s.cluster.gpus = 9;
  CHECK(!violations(s).empty());
  s = staged(2, 3);
  s.parallel.schedule = PipelineSchedule::interleaved;
  CHECK(violations(s).size() == 2);  // one chunk, and three micro-batches of two stages
  s.parallel.chunks = 2;
  CHECK(violations(s).size() == 1);
  s.training.accumulation = 4;
  CHECK(violations(s).empty());
  s.parallel.strategy = Strategy::fsdp;
  CHECK(violations(s).size() == 1);
}

TEST_CASE("a host that waits for each message has the pipeline's bubble, too") {
  // Tiny passes: the host alone takes time. Its work of one stage, and the bubble of four with 8
  // micro-batches over it, less what differs between stages.
  GpuProfile gpu = with_every_collective(toy_gpu_with_host(500));
  gpu.host.step_us = 0;
  Scenario s = staged(4, 8);
  s.training.seq = 16;
  const Prediction p = predict(s, gpu);
  CHECK(p.step.value > p.host_s * (1 + 0.8 * 3 / 8));
}
