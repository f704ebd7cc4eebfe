// The cost section of a report: what it says with and without prices, and that its figures are
// those of simulate/money.h and simulate/marginal.h.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "reports/scenario_page.h"
#include "tests/catch2.h"

namespace stepsight {

namespace {

enum Given { none, rent, both };

StudyPoint point(std::int64_t gpus, Given prices, bool fits = true) {
  StudyPoint p;
  Scenario& s = p.scenario;
  s.training.batch = 4;
  s.training.seq = 1000;
  s.cluster.gpus = gpus;
  if (prices != none) s.cost.rent_per_gpu_hour = 2;
  if (prices == both) {
    s.cost.gpu_price = 10000;
    s.run.tokens = 1e9;
  }
  const double n = static_cast<double>(gpus);
  const double step = 0.1 * (1 + 0.1 * (n - 1));
  p.prediction.step = Seconds{step};
  p.prediction.samples_per_s = n * 4 / step;
  p.prediction.tokens_per_s = p.prediction.samples_per_s * 1000;
  p.prediction.memory.fits = fits;
  p.money = money_of(s, GpuProfile{}, {step, 0.9 * step, 1.2 * step});
  return p;
}

std::vector<StudyPoint> counts(Given prices) {
  return {point(1, prices), point(2, prices), point(4, prices), point(8, prices, false)};
}

nlohmann::json json_of(const Section& section) {
  Document d;
  d.sections = {section};
  return nlohmann::json::parse(document_json(d))["sections"][0];
}

const nlohmann::json& table(const nlohmann::json& section, const std::string& id) {
  for (const auto& t : section["tables"]) {
    if (t["id"] == id) return t["rows"];
  }
  FAIL("no table " << id);
  return section;
}

}  // namespace

TEST_CASE("without prices the cost section says in one line which keys to give") {
  for (const std::string& language : language_names()) {
    const auto json = json_of(cost_section(point(2, none), counts(none), Words(language)));
    REQUIRE(json["text"].size() == 1);
    for (const char* key : {"rent_per_gpu_hour", "gpu_price", "[cost]", "prices = "}) {
      CHECK(json["text"][0].get<std::string>().find(key) != std::string::npos);
    }
    CHECK_FALSE(json.contains("tables"));
    CHECK_FALSE(json.contains("charts"));
  }
}

TEST_CASE("a run's length without prices gives its time, and says which keys would give its cost") {
  StudyPoint p = point(2, none);
  p.scenario.run.tokens = 1e9;
  p.money = money_of(p.scenario, GpuProfile{}, {0.1, 0.1, 0.1});
  const auto json = json_of(cost_section(p, {}, Words()));
  CHECK(table(json, "cost").size() == 1);
  CHECK(table(json, "cost")[0]["value"] == Approx(p.money->run_s->value));
  CHECK(json["text"].size() == 1);
}

TEST_CASE(
    "the cost of a step, of a million tokens and of the run have intervals, rented and bought") {
  const StudyPoint p = point(2, both);
  const auto json = json_of(cost_section(p, counts(both), Words()));
  const auto& rows = table(json, "cost");
  const auto row = [&](const std::string& name) {
    const auto at = std::ranges::find_if(rows, [&](const auto& r) { return r["figure"] == name; });
    REQUIRE(at != rows.end());
    return *at;
  };
  for (const auto& [way, spending] :
       {std::pair{"rented", *p.money->rent}, {"bought", *p.money->own}}) {
    const auto check = [&](const std::string& what, const Figure& f) {
      const auto r = row(what + ", " + way);
      CHECK(r["value"] == f.value);
      CHECK(r["p5"] == f.low);
      CHECK(r["p95"] == f.high);
    };
    check("a step", spending.per_step);
    check("a million tokens", spending.per_million);
    check("the run", *spending.per_run);
  }
  CHECK(table(json, "purchase").back()["amount"] == 20000);
}

TEST_CASE(
    "the chart has what a million tokens cost on each number of GPUs that fits, and so has its "
    "table") {
  const auto json = json_of(cost_section(point(4, both), counts(both), Words()));
  REQUIRE(json["charts"].size() == 1);
  const auto& chart = json["charts"][0];
  CHECK(chart["categories"] == nlohmann::json({"1", "2", "4"}));  // 8 do not fit
  REQUIRE(chart["series"].size() == 2);
  const auto& rows = table(json, "cost_by_gpus");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Money m = *counts(both)[i].money;
    CHECK(rows[i]["rent_per_million"] == m.rent->per_million.value);
    CHECK(rows[i]["rent_per_million_p5"] == m.rent->per_million.low);
    CHECK(rows[i]["own_per_run"] == m.own->per_run->value);
    CHECK(chart["series"][0]["values"][i] == rows[i]["rent_per_million"]);
    CHECK(chart["series"][0]["high"][i] == rows[i]["rent_per_million_p95"]);
    CHECK(chart["series"][1]["low"][i] == rows[i]["own_per_million_p5"]);
  }
}

TEST_CASE(
    "each added card's throughput, price and payback stand in a table, and where it stops to be "
    "worth it") {
  const auto json = json_of(cost_section(point(2, both), counts(both), Words()));
  const auto& rows = table(json, "next_cards");
  REQUIRE(rows.size() == 2);
  // 2 / 1.1 and 4 / 1.3 times one card's 40,000 tokens/s.
  CHECK(rows[0]["tokens_per_s_per_added_gpu"] == Approx(40000 * (2 / 1.1 - 1)));
  CHECK(rows[1]["tokens_per_s_per_added_gpu"] == Approx(20000 * (4 / 1.3 - 2 / 1.1)));
  CHECK(rows[1]["share_of_first"] == Approx((4 / 1.3 - 2 / 1.1) / 2));
  // Rent of 2 an hour is worth as much more as the throughput grows; 10,000 are lost.
  CHECK(rows[0]["payback_hours"] == Approx(10000 / (2 * (2 / 1.1 - 1))));
  CHECK(rows[0]["worth_it"] == "yes");
  const auto rented = json_of(cost_section(point(2, rent), counts(rent), Words()));
  CHECK(table(rented, "next_cards")[0]["payback_hours"].is_null());
}

}  // namespace stepsight
