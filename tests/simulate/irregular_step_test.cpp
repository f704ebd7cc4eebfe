#include "simulate/irregular_step.h"

#include <cmath>

#include "simulate/predict.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

using namespace stepsight;

TEST_CASE("all wait for one slow rank, and one rank alone for nobody") {
  CHECK(slowest_of({.slow_factor = 1.3}, 8) == 1.3);
  CHECK(slowest_of({.slow_factor = 1.3}, 1) == 1);
  CHECK(slowest_of({.slow_factor = 1.2, .batch_imbalance = 1.5}, 2) == Approx(1.8));
  CHECK(slowest_of({}, 1000) == 1);
}

TEST_CASE("the expected maximum of ranks that vary is that of normal samples") {
  // Order statistics of the standard normal (Tippett 1925; Teichroew 1956): 2: 1/sqrt(pi),
  // 3: 1.5/sqrt(pi), 8: 1.42360, 100: 2.50759.
  const auto deviations = [](std::int64_t ranks) {
    return (slowest_of({.jitter = 0.02}, ranks) - 1) / 0.02;
  };
  CHECK(deviations(2) == Approx(0.56419).epsilon(1e-3));
  CHECK(deviations(3) == Approx(0.84628).epsilon(1e-3));
  CHECK(deviations(8) == Approx(1.42360).epsilon(1e-3));
  CHECK(deviations(100) == Approx(2.50759).epsilon(1e-3));
  CHECK(deviations(16384) > 3.8);
  CHECK(deviations(16384) < 4.1);
}

TEST_CASE("a rank far behind hides the others' variation but not its own mean") {
  CHECK(slowest_of({.slow_factor = 2, .jitter = 0.01}, 64) == Approx(2).epsilon(1e-4));
  // With little behind, both count: more than either alone.
  const double both = slowest_of({.slow_factor = 1.02, .jitter = 0.02}, 64);
  CHECK(both > 1.02);
  CHECK(both > slowest_of({.jitter = 0.02}, 64));
}

TEST_CASE("the loader's workers are bound by what their machine delivers") {
  Scenario s = toy_scenario(8);
  s.cluster.nodes = 2;
  s.training.batch = 32;
  s.training.accumulation = 1;
  CHECK(loading_time(s).value == 0);
  s.irregular.loader_workers = 4;
  s.irregular.worker_samples_per_s = 100;
  CHECK(loading_time(s).value == Approx(32.0 / 400));
  s.irregular.node_samples_per_s = 800;  // four GPUs each: 200/s
  CHECK(loading_time(s).value == Approx(32.0 / 200));
  s.cluster.gpus = s.cluster.nodes =
      1;  // alone it has the machine's 800, so that its workers count
  CHECK(loading_time(s).value == Approx(32.0 / 400));
}

TEST_CASE("what disturbs a step adds to its parts, and the parts add up") {
  const GpuProfile gpu = with_every_collective(toy_gpu());
  Scenario s = toy_scenario(4);
  const Prediction regular = predict(s, gpu);
  s.irregular.slow_factor = 1.25;
  s.irregular.node_samples_per_s =
      0.5 * regular.samples_per_s;  // the data takes twice as long as the regular step
  s.irregular.stall_s = 60;
  s.irregular.stall_steps = 1000;
  const Prediction p = predict(s, gpu);
  const Attribution& a = p.attribution;
  CHECK(a.slowest > 0);
  CHECK(a.slowest < 0.25 * regular.step.value);
  CHECK(a.slowest + a.loading == Approx(regular.step.value));
  CHECK(a.stalls == Approx(0.06));
  CHECK(a.alone + a.bucket_copies + a.slow_down + a.exposed + a.slowest + a.loading + a.stalls ==
        Approx(p.step.value).epsilon(1e-9));
  CHECK(predict_step(s, gpu).value == Approx(p.step.value).epsilon(1e-9));
  CHECK(p.samples_per_s * p.step.value == Approx(regular.samples_per_s * regular.step.value));
}

TEST_CASE("every step of a pipeline waits for its slowest rank, too") {
  const GpuProfile gpu = with_every_collective(toy_gpu_with_host(0));
  Scenario s = toy_scenario(2);
  s.parallel.pipeline = 2;
  s.training.accumulation = 4;
  const double even = predict_step(s, gpu).value;
  s.irregular.slow_factor = 1.5;
  const double uneven = predict_step(s, gpu).value;
  CHECK(uneven > 1.2 * even);
  CHECK(uneven <= 1.5 * even);
}

TEST_CASE("a slower card among the ranks is waited for, a faster one waits") {
  const GpuProfile card = toy_gpu();
  GpuProfile half = card;
  for (auto& gemm : half.gemm) gemm.peak_TFLOPS /= 2;
  const Scenario s = toy_scenario(4);
  const double longer = card_slowdown(s, card, half);
  CHECK(longer > 1.3);
  CHECK(longer < 2);
  CHECK(card_slowdown(s, half, card) == 1);
}
