#include <cmath>

#include "model/errors.h"
#include "simulate/traced_prediction.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_traced_step.h"

using namespace stepsight;

namespace {

ModelError some_error() {
  ModelError e;
  e.sd.fill(0.05);
  e.ratio_sd = 0.01;
  return e;
}

TracedPoint studied(const Scenario& s,
                    const GpuProfile& gpu,
                    const GpuProfile* traced_on = nullptr) {
  return study_traced(toy_traced_step(), s, gpu, traced_on, some_error());
}

double width(const Quantiles& q) {
  return std::log(q.p95 / q.p5);
}

double sum_of(const Attribution& a) {
  return a.alone + a.bucket_copies + a.slow_down + a.exposed + a.bubble + a.slowest + a.loading +
         a.stalls;
}

}  // namespace

TEST_CASE(
    "a traced step, its speed-up, efficiency and exposed communication lie within their "
    "intervals") {
  for (const std::int64_t gpus : {2, 8}) {
    const StudyPoint p = studied(toy_scenario(gpus), toy_gpu()).point;
    const auto holds = [](const Quantiles& q, double value) {
      CHECK(q.p5 < value);
      CHECK(q.p50 == Approx(value));
      CHECK(q.p95 > value);
    };
    holds(p.uncertainty.step, p.prediction.step.value);
    holds(p.weak.speedup, p.weak.scaling.speedup);
    holds(p.weak.efficiency, p.weak.scaling.efficiency);
    holds(p.exposed_s, p.prediction.exposed_s);
    // What both steps have in common cancels.
    CHECK(width(p.weak.speedup) < width(p.uncertainty.step));
    double shares = 0;
    for (const Contribution& c : p.uncertainty.contributions) shares += c.share;
    CHECK(shares == Approx(1));
  }
}

TEST_CASE("one GPU is exactly as fast as itself, and waits for nobody") {
  const StudyPoint p = studied(toy_scenario(1), toy_gpu()).point;
  CHECK(p.weak.speedup.p5 == 1);
  CHECK(p.weak.speedup.p95 == 1);
  CHECK(p.exposed_s.p95 == 0);
}

TEST_CASE(
    "kernels are surest on the card that they were traced on, and least sure by their rate alone") {
  const GpuProfile here = toy_gpu();
  GpuProfile there = toy_gpu();
  there.name = "other";
  const double same = width(studied(toy_scenario(1), here).point.uncertainty.step);
  const double carried = width(studied(toy_scenario(1), here, &there).point.uncertainty.step);
  CHECK(carried > 1.2 * same);
}

TEST_CASE("a traced step among unequal ranks takes as long as the slowest, and its parts say so") {
  Scenario s = toy_scenario(8);
  const GpuProfile gpu = plain_gpu();
  const Prediction equal = predict_traced(toy_traced_step(), s, gpu).point.prediction;
  s.irregular.slow_factor = 1.5;
  const Prediction unequal = predict_traced(toy_traced_step(), s, gpu).point.prediction;
  // Kernels and copies take half as long again; what is waited for messages is the last bucket
  // either way.
  const double kernels = equal.attribution.alone + equal.attribution.bucket_copies;
  CHECK(unequal.step.value == Approx(1.5 * kernels + equal.attribution.exposed));
  CHECK(unequal.attribution.slowest == Approx(0.5 * kernels));
  CHECK(sum_of(unequal.attribution) == Approx(unequal.step.value));
  // One GPU alone has nobody to wait for.
  s = alone_of_trace(s);
  CHECK(predict_traced(toy_traced_step(), s, gpu).point.prediction.step.value == Approx(6e-3));
}

TEST_CASE("a traced step waits for its data and stands still for its share of pauses") {
  Scenario s = toy_scenario(2);
  s.training.batch = 16;
  s.training.accumulation = 1;
  s.irregular.loader_workers = 4;
  s.irregular.worker_samples_per_s = 200;
  s.irregular.stall_s = 2;
  s.irregular.stall_steps = 1000;
  const TracedPoint p = predict_traced(toy_traced_step(), s, plain_gpu());
  CHECK(p.point.prediction.step.value == Approx(16 / 800.0 + 2e-3));
  CHECK(p.point.prediction.attribution.stalls == Approx(2e-3));
  CHECK(sum_of(p.point.prediction.attribution) == Approx(p.point.prediction.step.value));
  // The same data holds one GPU up as long.
  CHECK(p.point.weak.scaling.efficiency == Approx(1));
}

TEST_CASE("a traced run costs its GPUs' hours, with the step's interval") {
  Scenario s = toy_scenario(8);
  s.training.batch = 10;
  s.cost.rent_per_gpu_hour = 3.6;
  s.run.steps = 1000;
  const StudyPoint p = studied(s, toy_gpu()).point;
  REQUIRE(p.money);
  REQUIRE(p.money->rent);
  const double per_step = 8 * 1e-3 * p.prediction.step.value;
  CHECK(p.money->rent->per_step.value == Approx(per_step));
  CHECK(p.money->rent->per_step.high == Approx(8 * 1e-3 * p.uncertainty.step.p95));
  CHECK(p.money->rent->per_million.value == Approx(per_step / 80 * 1e6));
  REQUIRE(p.money->rent->per_run);
  CHECK(p.money->rent->per_run->low == Approx(1000 * 8 * 1e-3 * p.uncertainty.step.p5));
}

TEST_CASE("a slower card computes a traced step so much longer") {
  const GpuProfile card = plain_gpu();
  GpuProfile half = card;
  half.pass[static_cast<std::size_t>(PassKind::copy)].bandwidth_TBps /= 2;
  half.pass[static_cast<std::size_t>(PassKind::copy)].overhead_us = 0;
  for (auto& p : half.gemm) p.peak_TFLOPS /= 2;
  for (auto& p : half.attention) p.peak_TFLOPS /= 2;
  const double slower = traced_slowdown(toy_traced_step(), card, nullptr, half, &card);
  CHECK(slower == Approx(2).epsilon(0.02));
  CHECK(traced_slowdown(toy_traced_step(), half, &card, card, nullptr) == 1);
}
