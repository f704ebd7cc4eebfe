#include "simulate/uncertainty.h"

#include <cmath>

#include "simulate/study.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_scenario.h"

namespace stepsight {
namespace {

Uncertainty uncertainty(const Scenario& s, const GpuProfile& gpu, const ModelError& error = {}) {
  return uncertainty_of(s, gpu, predict(s, gpu), error);
}

// The toy card as if products and passes had been measured and fitted to `error`.
GpuProfile measured_toy(double error) {
  GpuProfile gpu = toy_gpu();
  for (const char* group : {"gemm.bf16", "attention.forward", "attention.backward", "pass.copy"}) {
    gpu.quality.push_back({group, 100, 20, error, error, 3 * error});
  }
  return gpu;
}

ModelError some_error() {
  ModelError e;
  e.sd.fill(0.1);
  e.low = -1.2;
  e.high = 2.1;
  e.ratio_sd = 0.02;
  return e;
}

double width(const Quantiles& q) {
  return std::log(q.p95 / q.p5);
}

TEST_CASE("An interval holds its prediction, and contributions add up to the whole variance") {
  for (const std::int64_t gpus : {1, 2, 8}) {
    const Scenario s = toy_scenario(gpus);
    const Uncertainty u = uncertainty(s, toy_gpu(), some_error());
    CHECK(u.step.p5 < u.step.p50);
    CHECK(u.step.p50 < u.step.p95);
    CHECK(u.step.p50 == predict_step(s, toy_gpu()).value);
    double sum = 0;
    for (const Contribution& c : u.contributions) sum += c.share;
    CHECK(sum == Approx(1));
    for (std::size_t i = 1; i < u.contributions.size(); ++i) {
      CHECK(u.contributions[i - 1].share >= u.contributions[i].share);
    }
  }
}

TEST_CASE("A measured card is surer than one of class values, and a better fit surer still") {
  const Scenario s = toy_scenario(1);
  const double by_class = width(uncertainty(s, toy_gpu()).step);
  const double measured = width(uncertainty(s, measured_toy(0.05)).step);
  const double well = width(uncertainty(s, measured_toy(0.02)).step);
  CHECK(by_class > 1.5 * measured);
  CHECK(measured > 1.5 * well);
}

TEST_CASE("A class link is less sure than a measured one") {
  GpuProfile gpu = measured_toy(0.02);
  gpu.quality.push_back({"wire.all_reduce.8", 20, 5, 0.02, 0.02, 0.05});
  // Slow enough to show, and equally slow by either name.
  gpu = with_busbw(gpu, 5);
  Scenario on_wire = toy_scenario(8);
  Scenario by_class = toy_scenario(8);
  by_class.cluster.link = "pcie3-x4-nop2p";
  const Uncertainty sure = uncertainty(on_wire, gpu);
  const Uncertainty unsure = uncertainty(by_class, gpu);
  CHECK(width(unsure.step) > 2 * width(sure.step));
  CHECK(weakest_input(unsure)->input == "link bandwidth");
  CHECK(weakest_input(unsure)->command.find("all_reduce_perf") != std::string::npos);
  CHECK_FALSE(unsure.inside_calibration);
  CHECK(unsure.outside.find("link bandwidth") != std::string::npos);
}

TEST_CASE(
    "The host is the weakest input where it sets the pace, and counts for nothing where it is "
    "hidden") {
  const Scenario s = toy_scenario(1);
  const auto share_of_host = [&](double us) {
    for (const Contribution& c : uncertainty(s, toy_gpu_with_host(us)).contributions) {
      if (c.input == "host issue") return c.share;
    }
    return 0.0;
  };
  CHECK(share_of_host(1) == 0);
  CHECK(share_of_host(2000) > 0.9);
}

TEST_CASE("Without the model's error the interval is that of the measured inputs alone") {
  ModelError none;
  none.sd = {};
  const Uncertainty u = uncertainty(toy_scenario(2), toy_gpu(), none);
  CHECK(u.parameter_log_sd > 0);
  CHECK(u.log_sd == Approx(u.parameter_log_sd));
  const Uncertainty more = uncertainty(toy_scenario(2), toy_gpu(), some_error());
  CHECK(more.parameter_log_sd == Approx(u.parameter_log_sd));
  CHECK(more.log_sd > u.log_sd);
}

TEST_CASE("What two steps have in common cancels in their ratio") {
  const Scenario one = toy_scenario(1);
  const Uncertainty alone = uncertainty(one, toy_gpu(), some_error());
  const Quantiles same = ratio_interval(1, alone, alone, some_error());
  CHECK(same.p5 == 1);
  CHECK(same.p95 == 1);
  const std::vector<Scenario> points{toy_scenario(8)};
  const GpuProfile gpu = toy_gpu();
  const auto study8 = study(
      points, [&](const std::string&) -> const GpuProfile& { return gpu; }, some_error());
  const ScalingPoint& weak = study8.front().weak;
  CHECK(weak.speedup.p5 < weak.scaling.speedup);
  CHECK(weak.speedup.p95 > weak.scaling.speedup);
  CHECK(weak.speedup.p50 == weak.scaling.speedup);
  CHECK(weak.efficiency.p50 == Approx(weak.scaling.efficiency));
  CHECK(width(weak.speedup) < 0.7 * width(weak.step_s));
}

}  // namespace
}  // namespace stepsight
