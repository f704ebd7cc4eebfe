#include "simulate/exposed_interval.h"

#include <algorithm>
#include <cmath>

#include "simulate/study.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_scenario.h"

namespace stepsight {
namespace {

// Nothing is unsure but the wire, by the fifth that a link without a fit's error has, and what runs
// beside it, by the tenth that nobody measured.
constexpr double wire_spread = 0.2;
constexpr double overlap_spread = 0.1;
ModelError of_inputs_alone() {
  ModelError e;
  e.sd.fill(0);
  return e;
}

StudyPoint studied(const Scenario& s, const GpuProfile& gpu, const ModelError& error) {
  return study(
             {&s, 1}, [&](const std::string&) -> const GpuProfile& { return gpu; }, error)
      .front();
}

GpuProfile with_wire(double longer) {
  GpuProfile gpu = toy_gpu();
  for (CollectiveCurve& c : gpu.collectives) {
    c.parameters.latency_us *= longer;
    c.parameters.busbw_GBps /= longer;
  }
  return gpu;
}

GpuProfile with_overlap(double slower) {
  GpuProfile gpu = toy_gpu();
  for (const auto& field : OverlapParameters<double>::fields()) {
    double& rate = gpu.overlap.*field.member;
    rate = std::clamp(rate / slower, field.info.lower, field.info.upper);
  }
  return gpu;
}

double waited(const Scenario& s, const GpuProfile& gpu) {
  return predict(s, gpu).exposed_s;
}

TEST_CASE("the ends of exposed communication are those of the step with the link at its ends") {
  for (const std::int64_t batch : {1, 4, 16}) {
    CAPTURE(batch);
    Scenario s = toy_scenario(8);
    s.training.batch = batch;
    const ModelError error = of_inputs_alone();
    const double now = waited(s, toy_gpu());
    double wire[2], beside[2];
    const double ends[] = {error.low, error.high};
    for (int i = 0; i < 2; ++i) {
      wire[i] = waited(s, with_wire(std::exp(ends[i] * wire_spread))) - now;
      beside[i] = waited(s, with_overlap(std::exp(ends[i] * overlap_spread))) - now;
    }
    const auto most = [](const double* change, double sign) {
      return std::max({sign * change[0], sign * change[1], 0.0});
    };
    const Quantiles q = studied(s, toy_gpu(), error).exposed_s;
    CHECK(q.p50 == now);
    CHECK(q.p95 == Approx(now + std::hypot(most(wire, 1), most(beside, 1))));
    const double low = now - std::hypot(most(wire, -1), most(beside, -1));
    CHECK(q.p5 == Approx(std::max(0.0, low)).margin(1e-12));
    if (batch == 1) CHECK(q.p95 > 1.2 * q.p50);
  }
}

TEST_CASE("exposed communication lies within its interval, which starts at 0 at least") {
  ModelError error;
  error.sd.fill(0.1);
  for (const std::int64_t gpus : {2, 8}) {
    for (const std::int64_t batch : {1, 8}) {
      Scenario s = toy_scenario(gpus);
      s.training.batch = batch;
      const Quantiles q = studied(s, toy_gpu(), error).exposed_s;
      CHECK(q.p5 >= 0);
      CHECK(q.p5 <= q.p50);
      CHECK(q.p50 <= q.p95);
    }
  }
}

TEST_CASE("who exchanges nothing waits for nothing, for sure") {
  const Quantiles q = studied(toy_scenario(1), toy_gpu(), ModelError{}).exposed_s;
  CHECK(q.p95 == 0);
}

TEST_CASE("what disturbs a step besides does not change what it waits for messages") {
  Scenario s = toy_scenario(8);
  s.training.batch = 1;
  const Quantiles regular = studied(s, toy_gpu(), of_inputs_alone()).exposed_s;
  s.irregular.stall_s = 1;
  s.irregular.stall_steps = 10;
  const Quantiles paused = studied(s, toy_gpu(), of_inputs_alone()).exposed_s;
  CHECK(paused.p5 == Approx(regular.p5));
  CHECK(paused.p95 == Approx(regular.p95));
}

}  // namespace
}  // namespace stepsight
