// Public single-GPU BERT runs on 19 cards against their profiles: fitted where products were
// measured, class values elsewhere. No row was used to fit anything.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/catch2.h"
#include "tests/validation/points.h"

using namespace stepsight;

namespace {

const std::vector<ValidationPoint>& points() {
  static const std::vector<ValidationPoint> all = predicted_points("public_bert_runs.csv");
  return all;
}

}  // namespace

TEST_CASE("question answering on 17 cards is predicted within 15 %, half of it within 10 %") {
  const ErrorSummary e =
      errors_where(points(), [](const ValidationPoint& p) { return p.id.starts_with("LA"); });
  CHECK(e.n == 108);
  CHECK(e.mape <= 0.15);
  CHECK(e.median_ape <= 0.10);
}

TEST_CASE("NVIDIA's BERT runs on V100 and A100 are predicted within 15 %") {
  const ErrorSummary e =
      errors_where(points(), [](const ValidationPoint& p) { return p.id.starts_with("DL"); });
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
