#include "simulate/traced_program.h"

#include <numeric>

#include "model/errors.h"
#include "simulate/traced_prediction.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_traced_step.h"

using namespace stepsight;

namespace {

Scenario on(std::int64_t gpus) {
  return toy_scenario(gpus);
}

double step_of(const TracedStep& s, const Scenario& scenario, const GpuProfile& gpu) {
  return predict_traced(s, scenario, gpu).point.prediction.step.value;
}

}  // namespace

TEST_CASE("on its own card a traced step takes its kernels and the gaps between them") {
  GpuProfile gpu = plain_gpu();
  CHECK(step_of(toy_traced_step(), on(1), gpu) == Approx(6e-3));
  gpu.launch.stream_gap_us = 2;
  CHECK(step_of(toy_traced_step(), on(1), gpu) == Approx(6e-3 + 6 * 2e-6));
}

TEST_CASE("a traced step is as long as its host's issue where that is longer") {
  TracedStep s = toy_traced_step();
  for (TracedKernel& k : s.kernels) k.issue_seconds = 2e-3;
  s.tail_seconds = 1e-3;
  // No count of operators: nothing says that the profiler made the host slower.
  GpuProfile gpu = plain_gpu();
  for (IssueCount& c : s.issue) c = {0, 0, 0};
  CHECK(step_of(s, on(1), gpu) == Approx(6 * 2e-3 + 1e-3));
}

TEST_CASE(
    "the host's issue is what its operators cost without a profiler, never more than traced") {
  TracedStep s = toy_traced_step();
  for (IssueCount& c : s.issue) c.seconds = 0;
  for (TracedKernel& k : s.kernels) {
    k.issue_seconds = 2e-3;
    s.issue[static_cast<std::size_t>(k.part)].seconds += 2e-3;
  }
  s.issue[0].casts = 1;
  s.issue[0].operators = 1;
  GpuProfile gpu = plain_gpu();
  gpu.host.forward_us = 300;
  gpu.host.cast_us = 100;
  gpu.host.backward_us = 5000;
  gpu.host.optimizer_tensor_us = 100;
  gpu.host.step_us = 50;
  const TracedCosts costs = cost_traced_step(s, gpu);
  CHECK(costs.issue_scale[0] == Approx((300 + 100) / 4000.0));
  CHECK(costs.issue_scale[1] == 1);  // 3 x 5 ms would be more than the traced 6 ms
  CHECK(costs.issue_scale[2] == Approx((300 + 2 * 100 + 50) / 2000.0));
  const TracedPoint p = predict_traced(s, on(1), gpu);
  CHECK(p.point.prediction.host_s == Approx(0.4e-3 + 6e-3 + 0.55e-3));
  CHECK(p.traced_host_s == Approx(12e-3));
}

TEST_CASE("every gradient travels once, in its number format") {
  const TracedPoint p = predict_traced(toy_traced_step(), on(8), plain_gpu());
  CHECK(p.point.prediction.message_bytes == 80e6);
  CHECK(p.point.prediction.buckets == 2);  // each fills a bucket by itself
  Scenario half = on(8);
  half.training.gradient_dtype = Dtype::bf16;
  CHECK(predict_traced(toy_traced_step(), half, plain_gpu()).point.prediction.message_bytes ==
        40e6);
}

TEST_CASE("the optimizer waits for the last bucket, and communication hides behind backward") {
  // 40 MB over 8 GPUs at 100 GB/s of bus bandwidth: 20 us + 40e6 x 7/4 / 100e9 = 720 us. The first
  // bucket starts after 4 kernels and a copy and hides behind the fifth; the second starts when the
  // fifth and its copy are done, and the optimizer waits for it.
  const GpuProfile gpu = plain_gpu();
  const double bucket = 20e-6 + 40e6 * 7 / 4 / 100e9;
  const double copy = cost(Pass{PassKind::copy, 1, 10'000'000, Dtype::fp32}, gpu).time.value;
  const TracedPoint p = predict_traced(toy_traced_step(), on(8), gpu);
  CHECK(p.point.prediction.step.value == Approx(6e-3 + 2 * copy + bucket));
  CHECK(p.point.prediction.exposed_s == Approx(bucket));
  CHECK(p.point.prediction.attribution.alone == Approx(6e-3));
  CHECK(p.point.prediction.attribution.bucket_copies == Approx(2 * copy));
  CHECK(p.point.prediction.attribution.exposed == Approx(bucket));
  CHECK(p.point.weak.scaling.efficiency == Approx(6e-3 / (6e-3 + 2 * copy + bucket)));

  Scenario after = on(8);
  after.parallel.overlap = false;
  CHECK(step_of(toy_traced_step(), after, gpu) == Approx(6e-3 + 2 * copy + 2 * bucket));
}

TEST_CASE("the slow-down of compute under a collective applies to traced kernels") {
  GpuProfile gpu = plain_gpu();
  const double alone = step_of(toy_traced_step(), on(8), gpu);
  gpu.overlap.compute_under_collective = 0.5;
  // The first bucket's 720 us lie beside the fifth kernel, which does half of its work meanwhile.
  const double bucket = 20e-6 + 40e6 * 7 / 4 / 100e9;
  CHECK(step_of(toy_traced_step(), on(8), gpu) == Approx(alone + bucket / 2));
  CHECK(predict_traced(toy_traced_step(), on(8), gpu).point.prediction.attribution.slow_down ==
        Approx(bucket / 2));
  // A memory-bound kernel in its place is slowed as such.
  gpu.overlap.compute_under_collective = 1;
  gpu.overlap.memory_under_collective = 0.25;
  TracedStep memory = toy_traced_step();
  memory.kernels[4].kind = KernelKind::memory;
  CHECK(step_of(memory, on(8), gpu) == Approx(alone + bucket * 0.75));
}

TEST_CASE("the parts of a traced step's attribution add up to it") {
  GpuProfile gpu = toy_gpu();
  for (const std::int64_t gpus : {2, 4, 8}) {
    const Prediction p = predict_traced(toy_traced_step(), on(gpus), gpu).point.prediction;
    const Attribution& a = p.attribution;
    CHECK(a.alone + a.bucket_copies + a.slow_down + a.exposed == Approx(p.step.value));
  }
}

TEST_CASE("a faster link never makes a traced step longer") {
  const GpuProfile gpu = plain_gpu();
  double before = 1e9;
  for (const double busbw : {1.0, 10.0, 50.0, 100.0, 1000.0}) {
    const double step = step_of(toy_traced_step(), on(8), with_busbw(gpu, busbw));
    CHECK(step <= before);
    before = step;
  }
}

TEST_CASE("a host that waits for the GPU loses its lead") {
  TracedStep s = toy_traced_step();
  const GpuProfile gpu = plain_gpu();
  s.kernels[5].issue_seconds = 0.4e-3;
  CHECK(step_of(s, on(1), gpu) == Approx(6e-3));  // issued long before
  s.kernels[5].host_waits = true;
  CHECK(step_of(s, on(1), gpu) == Approx(6.4e-3));
  s.kernels[5].host_waits = false;
  s.tail_waits = true;
  s.tail_seconds = 0.1e-3;
  // The first kernel of a step is issued 0.1 ms and its own 10 us after the last step's end.
  CHECK(step_of(s, on(1), gpu) == Approx(6e-3 + 0.1e-3 + 10e-6));
}

TEST_CASE("a step without an optimizer still waits for its buckets") {
  TracedStep s = toy_traced_step();
  s.kernels.pop_back();
  const GpuProfile gpu = plain_gpu();
  const double copy = cost(Pass{PassKind::copy, 1, 10'000'000, Dtype::fp32}, gpu).time.value;
  CHECK(step_of(s, on(8), gpu) == Approx(5e-3 + 2 * copy + 20e-6 + 40e6 * 7 / 4 / 100e9));
}

TEST_CASE("carried over to an equal card a step stays as it is, whatever is known of its kernels") {
  TracedStep s = toy_traced_step();
  s.works = {Gemm{4096, 4096, 4096}};
  s.kernels[0].work = 0;
  const GpuProfile gpu = plain_gpu();
  const TracedCosts costs = cost_traced_step(s, gpu, &gpu);
  for (const double seconds : costs.kernel_seconds) CHECK(seconds == Approx(1e-3));
  CHECK(costs.by_operator == Approx(1.0 / 6));
  CHECK(costs.by_rate == Approx(5.0 / 6));
  CHECK(costs.kept == 0);
}

TEST_CASE("on another card each kernel takes the ratio of what bounds it") {
  TracedStep s = toy_traced_step();
  s.works = {Gemm{4096, 4096, 4096}};
  s.kernels[0].work = 0;
  const GpuProfile from = plain_gpu();
  GpuProfile to = from;
  auto& gemm = to.gemm[static_cast<std::size_t>(Dtype::bf16)];
  gemm.peak_TFLOPS *= 2;
  to.pass[static_cast<std::size_t>(PassKind::copy)].bandwidth_TBps *= 4;
  to.attention[1].peak_TFLOPS *= 5;
  const TracedCosts costs = cost_traced_step(s, to, &from);
  const Work product = s.works[0];
  CHECK(costs.kernel_seconds[0] ==
        Approx(1e-3 * (cost(product, to).time / cost(product, from).time)));
  const double start = gemm.overhead_us * 1e-6;
  CHECK(costs.kernel_seconds[2] == Approx(start + (1e-3 - start) / 2));
  const double copy = to.pass[static_cast<std::size_t>(PassKind::copy)].overhead_us * 1e-6;
  CHECK(costs.kernel_seconds[1] == Approx(copy + (1e-3 - copy) / 4));
  const double attention = to.attention[1].overhead_us * 1e-6;
  CHECK(costs.kernel_seconds[4] == Approx(attention + (1e-3 - attention) / 5));
}

TEST_CASE("a kernel shorter than the start of one never gets shorter than the other card's start") {
  TracedStep s = toy_traced_step();
  s.kernels[1].seconds = 1e-7;
  const GpuProfile from = plain_gpu();
  GpuProfile to = from;
  to.pass[static_cast<std::size_t>(PassKind::copy)].bandwidth_TBps *= 1000;
  const double start = to.pass[static_cast<std::size_t>(PassKind::copy)].overhead_us * 1e-6;
  CHECK(cost_traced_step(s, to, &from).kernel_seconds[1] == Approx(start));
}

TEST_CASE("parameters are inferred from the time of a fused update") {
  const GpuProfile gpu = plain_gpu();
  TracedStep s = toy_traced_step();
  // 28 bytes a parameter in fp32, read and written.
  const auto& p = gpu.pass[static_cast<std::size_t>(PassKind::adamw)];
  s.kernels[5].seconds = p.overhead_us * 1e-6 + 28 * 1e8 / (p.bandwidth_TBps * 1e12);
  CHECK(infer_parameters(s, gpu).value() == Approx(100'000'000).epsilon(1e-6));
  s.kernels.pop_back();
  CHECK_FALSE(infer_parameters(s, gpu).has_value());
}

TEST_CASE("a fused update is carried over as the pass over all parameters") {
  TracedStep s = toy_traced_step();
  s.works = {Pass{PassKind::adamw, 0, 0, Dtype::fp32}};
  s.kernels[5].work = 0;
  const GpuProfile from = plain_gpu();
  GpuProfile to = from;
  to.pass[static_cast<std::size_t>(PassKind::adamw)].bandwidth_TBps /= 3;
  const Pass update{PassKind::adamw, 2, 10'000'000, Dtype::fp32};
  CHECK(cost_traced_step(s, to, &from).kernel_seconds[5] ==
        Approx(1e-3 * (cost(update, to).time / cost(update, from).time)));
}

namespace {

// The plain card, whose link knows gathers and scatters, too.
GpuProfile sharding_gpu() {
  GpuProfile gpu = plain_gpu();
  gpu.host.gather_unit_us = gpu.host.scatter_unit_us = 0;
  const std::vector<CollectiveCurve> all_reduce = gpu.collectives;
  for (CollectiveCurve c : all_reduce) {
    for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      c.kind = kind;
      gpu.collectives.push_back(c);
    }
  }
  return gpu;
}

// The toy step's two gradients are two layers: the second is used by forward's first kernel, the
// first by its second.
TracedStep toy_layers() {
  TracedStep s = toy_traced_step();
  s.backward_begin = 2;
  s.gradients[0].first_use = 1;
  s.gradients[1].first_use = 0;
  return s;
}

Scenario sharded(std::int64_t gpus = 8) {
  Scenario s = on(gpus);
  s.parallel.strategy = Strategy::fsdp;
  return s;
}

}  // namespace

TEST_CASE("FSDP gathers a traced layer twice and scatters it once") {
  const GpuProfile gpu = sharding_gpu();
  const Prediction p = predict_traced(toy_layers(), sharded(), gpu).point.prediction;
  CHECK(p.buckets == 2);
  CHECK(p.message_bytes == 3 * 80e6);
  Scenario kept = sharded();
  kept.parallel.reshard_after_forward = false;
  CHECK(predict_traced(toy_layers(), kept, gpu).point.prediction.message_bytes == 2 * 80e6);
  Scenario half = sharded();
  half.training.gradient_dtype = Dtype::bf16;
  CHECK(predict_traced(toy_layers(), half, gpu).point.prediction.message_bytes == 2.5 * 80e6);
}

TEST_CASE("without a link's cost FSDP adds its copies and takes off the shared-out update") {
  const GpuProfile gpu = with_busbw(sharding_gpu(), 1e12);
  GpuProfile instant = gpu;
  for (CollectiveCurve& c : instant.collectives) c.parameters.latency_us = 1e-9;
  const double copy = cost(Pass{PassKind::copy, 1, 10'000'000, Dtype::fp32}, gpu).time.value;
  const double start = gpu.pass[static_cast<std::size_t>(PassKind::copy)].overhead_us * 1e-6;
  const double update = start + (1e-3 - start) / 8;
  // Out of the gathered buffer twice and into the scattered one once, two layers.
  CHECK(step_of(toy_layers(), sharded(), instant) == Approx(5e-3 + update + 6 * copy));
}

TEST_CASE("what FSDP cannot hide is the first gather of each pass and the last scatter") {
  // A message of 40 MB takes less than the millisecond of a kernel. The second layer is gathered
  // beside the first's kernel; backward asks for its first layer when forward has ended; the first
  // layer's scatter hides beside the last kernel of backward, the last layer's has nothing beside
  // it.
  const GpuProfile gpu = sharding_gpu();
  const double message =
      cost(*resolve_collective(gpu, on(8).cluster, {CollectiveKind::all_gather, 8, 1}).curve,
           Bytes{40e6})
          .time.value;
  REQUIRE(message < 1e-3);
  const Prediction p = predict_traced(toy_layers(), sharded(), gpu).point.prediction;
  CHECK(p.exposed_s == Approx(3 * message));
  Scenario alone = sharded();
  alone.parallel.prefetch = 0;
  CHECK(step_of(toy_layers(), alone, gpu) >= p.step.value);
}

TEST_CASE("FSDP on one GPU is the step alone") {
  CHECK(step_of(toy_layers(), sharded(1), sharding_gpu()) == Approx(6e-3));
}

TEST_CASE("FSDP refuses a step of several micro-steps") {
  TracedStep s = toy_layers();
  s.micro_steps = 2;
  CHECK_THROWS_AS(step_of(s, sharded(), sharding_gpu()), UserError);
}
