// Peak memory of our own runs on an H200, as torch.cuda.max_memory_allocated counts it, against
// what walking the step says. Nothing was fitted to it.
#include <cmath>
#include <string>
#include <vector>

#include "model/io/profile_file.h"
#include "model/io/run_scenario.h"
#include "model/io/runs_csv.h"
#include "simulate/predict.h"
#include "simulate/validate.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

// An encoder with dropout, compiled: 36.7 GiB measured, 20.1 predicted. 531 MiB a sequence more
// than the walk finds is 5.3 bytes an attention score, what attention written out keeps:
// compilation seems to have replaced the fused kernel.
constexpr const char* unexplained = "H3097";

const std::vector<ValidationPoint>& points() {
  static const std::vector<ValidationPoint> all = [] {
    const GpuProfile gpu = read_profile("h200-sxm");
    std::vector<ValidationPoint> out;
    for (const char* file : {"own_h200_runs.csv", "own_h200_encoder_runs.csv"}) {
      for (const MeasuredRun& run :
           read_runs(STEPSIGHT_SOURCE_DIR "/tests/validation/" + std::string(file))) {
        INFO(run.id);
        const auto answer = scenario_of(run);
        REQUIRE(std::holds_alternative<Scenario>(answer));
        REQUIRE(run.peak_memory);
        const Memory m = predict(std::get<Scenario>(answer), gpu).memory;
        ValidationPoint& point = out.emplace_back();
        point.id = run.id;
        point.measured_peak = *run.peak_memory;
        point.predicted_peak = m.peak;
      }
    }
    return out;
  }();
  return all;
}

}  // namespace

TEST_CASE("peak memory of own runs is predicted within 10 %, one compiled encoder apart") {
  std::size_t held = 0;
  for (const ValidationPoint& p : points()) {
    if (p.id == unexplained) continue;
    INFO(p.id << ": " << 100 * p.memory_error() << " %");
    CHECK(std::abs(p.memory_error()) <= 0.10);
    ++held;
  }
  CHECK(held == 98);
}

TEST_CASE("peak memory of own runs is predicted within 0.5 % at the median") {
  std::vector<const ValidationPoint*> all;
  for (const ValidationPoint& p : points()) all.push_back(&p);
  const ErrorSummary e = summarise_memory(all);
  CHECK(e.n == points().size());
  CHECK(e.median_ape <= 0.005);
  CHECK(e.mape <= 0.02);
}
