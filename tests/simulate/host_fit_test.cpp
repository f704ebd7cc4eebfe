#include "simulate/host_fit.h"

#include <stdexcept>

#include "simulate/predict.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_scenario.h"

using namespace stepsight;

namespace {

// Small models, for which the host is what takes the time.
std::vector<HostRun> runs_on(const GpuProfile& gpu) {
  std::vector<HostRun> out;
  for (const std::int64_t batch : {1, 2}) {
    for (const std::int64_t accumulation : {1, 4}) {
      Scenario s = toy_scenario(1);
      s.training.seq = 128;
      s.training.batch = batch;
      s.training.accumulation = accumulation;
      out.push_back({s, predict_step(s, gpu).value});
    }
  }
  return out;
}

}  // namespace

TEST_CASE("the host's factor is found from the steps of a machine whose host is that much slower") {
  const GpuProfile gpu = toy_gpu();
  for (const double factor : {0.8, 1.0, 1.7, 3.2}) {
    const auto runs = runs_on(with_host_factor(gpu, factor));
    INFO("factor " << factor);
    CHECK(fit_host_factor(runs, gpu) == Approx(factor).epsilon(0.02));
  }
}

TEST_CASE("a factor multiplies every time of the host and nothing else") {
  const GpuProfile gpu = toy_gpu();
  const GpuProfile slow = with_host_factor(gpu, 2);
  for (const auto& field : HostParameters<double>::fields()) {
    CHECK(slow.host.*field.member == 2 * gpu.host.*field.member);
  }
  CHECK(slow.launch.stream_gap_us == gpu.launch.stream_gap_us);
}

TEST_CASE("rows are taken evenly, never twice, and none where there are none") {
  CHECK(spread_evenly(720, 10) ==
        std::vector<std::size_t>{36, 108, 180, 252, 324, 396, 468, 540, 612, 684});
  CHECK(spread_evenly(3, 10) == std::vector<std::size_t>{0, 1, 2});
  CHECK(spread_evenly(0, 10).empty());
  CHECK_THROWS_AS(fit_host_factor({}, toy_gpu()), std::logic_error);
}
