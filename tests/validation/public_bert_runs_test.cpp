// Public single-GPU BERT runs on 19 cards against their profiles: fitted where products were
// measured, class values elsewhere. No row was used to fit anything.
#include <map>
#include <memory>
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

const GpuProfile& profile(const std::string& name) {
  static std::map<std::string, std::unique_ptr<GpuProfile>> known;
  auto& entry = known[name];
  if (!entry) entry = std::make_unique<GpuProfile>(read_profile(name));
  return *entry;
}

const std::vector<ValidationPoint>& points() {
  static const std::vector<ValidationPoint> all = [] {
    std::vector<ValidationPoint> out;
    for (const MeasuredRun& run :
         read_runs(STEPSIGHT_SOURCE_DIR "/tests/validation/public_bert_runs.csv")) {
      const auto answer = scenario_of(run);
      INFO(run.id);
      REQUIRE(std::holds_alternative<Scenario>(answer));
      const Seconds step = predict_step(std::get<Scenario>(answer), profile(run.std_gpu));
      out.push_back({run.id, {{"gpu", run.std_gpu}}, run.step_time_s, step.value, false});
    }
    return out;
  }();
  return all;
}

template <typename Keep>
ErrorSummary errors_where(Keep keep) {
  std::vector<const ValidationPoint*> kept;
  for (const ValidationPoint& p : points()) {
    if (!keep(p)) continue;
    kept.push_back(&p);
    UNSCOPED_INFO(p.id << " " << p.groups.at("gpu") << ": " << 100 * p.error() << " %");
  }
  return summarise(kept);
}

}  // namespace

TEST_CASE("question answering on 17 cards is predicted within 15 %, half of it within 10 %") {
  const ErrorSummary e =
      errors_where([](const ValidationPoint& p) { return p.id.starts_with("LA"); });
  CHECK(e.n == 108);
  CHECK(e.mape <= 0.15);
  CHECK(e.median_ape <= 0.10);
}

TEST_CASE("NVIDIA's BERT runs on V100 and A100 are predicted within 15 %") {
  const ErrorSummary e =
      errors_where([](const ValidationPoint& p) { return p.id.starts_with("DL"); });
  CHECK(e.n == 12);
  CHECK(e.mape <= 0.15);
}

TEST_CASE("no single card's runs are off by more than a quarter in the mean") {
  std::map<std::string, std::vector<const ValidationPoint*>> cards;
  for (const ValidationPoint& p : points()) cards[p.groups.at("gpu")].push_back(&p);
  CHECK(cards.size() == 19);
  for (const auto& [card, runs] : cards) {
    INFO(card);
    CHECK(summarise(runs).mape <= 0.25);
  }
}
