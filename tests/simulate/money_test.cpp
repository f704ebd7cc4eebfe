#include "simulate/money.h"

#include <cmath>

#include "model/link_curve.h"
#include "simulate/marginal.h"
#include "tests/catch2.h"

namespace stepsight {
namespace {

using match::WithinRel;

// 8 GPUs on 2 machines, 4 sequences of 1,000 tokens each: 32,000 tokens a step.
Scenario eight_gpus() {
  Scenario s;
  s.training.batch = 4;
  s.training.seq = 1000;
  s.cluster.gpus = 8;
  s.cluster.nodes = 2;
  return s;
}

GpuProfile card_of(double watts) {
  GpuProfile gpu;
  gpu.power_W = watts;
  return gpu;
}

Scenario on_network(const char* name) {
  Scenario s = eight_gpus();
  LinkFacts facts;
  facts.link_class = parse_link_class(name);
  REQUIRE(facts.link_class.has_value());
  s.cluster.facts = std::make_shared<const LinkFacts>(std::move(facts));
  s.cost.gpu_price = 10000;
  return s;
}

TEST_CASE("without prices and without a run's length there is no money to speak of") {
  CHECK_FALSE(money_of(eight_gpus(), card_of(700), {1, 1, 1}).has_value());
}

TEST_CASE("rent is paid for every card while the run lasts") {
  Scenario s = eight_gpus();
  s.cost.rent_per_gpu_hour = 3;
  s.run.tokens = 3.2e9;  // 100,000 steps
  const Money m = *money_of(s, card_of(700), {0.9, 0.8, 1.2});
  REQUIRE(m.rent.has_value());
  CHECK_THAT(m.rent->per_hour, WithinRel(24.0, 1e-12));
  CHECK_THAT(m.rent->per_step.value, WithinRel(0.9 * 24 / 3600, 1e-12));
  // 1e6 / 32,000 = 31.25 steps.
  CHECK_THAT(m.rent->per_million.value, WithinRel(31.25 * 0.9 * 24 / 3600, 1e-12));
  CHECK_THAT(m.rent->per_run->value, WithinRel(1e5 * 0.9 * 24 / 3600, 1e-12));
  CHECK_THAT(m.rent->per_run->high / m.rent->per_run->value, WithinRel(1.2 / 0.9, 1e-12));
  CHECK_THAT(m.run_s->value, WithinRel(0.9e5, 1e-12));
  CHECK_FALSE(m.own.has_value());
}

TEST_CASE("what is bought is written off over the hours it trains, and its power comes on top") {
  Scenario s = eight_gpus();
  s.cost.gpu_price = 10000;
  s.cost.node_price = 20000;
  s.cost.facility_share = 0.25;
  s.cost.resale_share = 0.2;
  s.cost.years = 2;
  s.cost.utilisation = 0.5;
  s.cost.power_price_per_kWh = 0.1;
  s.cost.pue = 1.5;
  s.cost.node_power_W = 1000;
  s.cost.rent_per_gpu_hour = 4;
  const Money m = *money_of(s, card_of(500), {1, 1, 1});
  // (80,000 + 40,000) x 1.25 = 150,000, of which 120,000 are lost over 8,766 hours;
  // (8 x 0.5 + 2 x 1) x 1.5 = 9 kW.
  CHECK_THAT(m.purchase.total(), WithinRel(150000.0, 1e-12));
  CHECK_THAT(*m.power_kW, WithinRel(9.0, 1e-12));
  CHECK_THAT(m.own->per_hour, WithinRel(120000.0 / 8766 + 0.9, 1e-12));
  // Renting costs 32 an hour, power 0.9: the purchase is back after 120,000 / 31.1 hours.
  CHECK_THAT(*m.break_even_hours, WithinRel(120000 / 31.1, 1e-12));
  CHECK(m.cheaper() == &*m.own);
}

TEST_CASE("at the break-even hour renting and owning have cost the same") {
  Scenario s = eight_gpus();
  s.cost.gpu_price = 25000;
  s.cost.rent_per_gpu_hour = 2.5;
  s.cost.power_price_per_kWh = 0.2;
  const Money m = *money_of(s, card_of(700), {1, 1, 1});
  const double hours = *m.break_even_hours;
  const double power = *m.power_kW * 0.2;
  CHECK_THAT(m.purchase.total() + hours * power, WithinRel(hours * m.rent->per_hour, 1e-12));
}

TEST_CASE("a network of four times the rate costs four times its rate's part") {
  Scenario slow = on_network("nvlink4-nvswitch+8x100G-ib");
  Scenario fast = on_network("nvlink4-nvswitch+8x400G-ib");
  for (Scenario* s : {&slow, &fast}) {
    s->cost.nic_price = 500;
    s->cost.nic_price_per_Gbps = 5;
    s->cost.switch_price_per_Gbps = 3;
  }
  // Two machines of eight adapters.
  CHECK_THAT(purchase_of(slow).network, WithinRel(16 * (500 + 100 * 8.0), 1e-9));
  CHECK_THAT(purchase_of(fast).network, WithinRel(16 * (500 + 400 * 8.0), 1e-9));
}

TEST_CASE("every two cards of a machine with bridges have one") {
  Scenario s = on_network("nvlink3-bridge-pcie4-nop2p");
  s.cluster.nodes = 1;
  s.cluster.gpus = 5;
  s.cost.bridge_price = 80;
  CHECK(purchase_of(s).bridges == 160);
  CHECK(purchase_of(on_network("pcie4-x16-nop2p")).bridges == 0);
}

TEST_CASE("without failures and checkpoints all of the time is training") {
  CHECK(goodput({}, 1000).share == 1);
  RunLength run;
  run.checkpoint_interval_s = 900;
  run.checkpoint_s = 100;
  CHECK_THAT(goodput(run, 1000).share, WithinRel(0.9, 1e-12));
}

TEST_CASE("no other checkpoint interval keeps more than the best one") {
  RunLength run;
  run.gpu_mtbf_hours = 50000;
  run.checkpoint_s = 30;
  run.restart_s = 600;
  for (const std::int64_t gpus : {64, 1024, 16384}) {
    run.checkpoint_interval_s = 0;
    const Goodput best = goodput(run, gpus);
    for (const double factor : {0.25, 0.5, 0.9, 1.1, 2.0, 4.0}) {
      run.checkpoint_interval_s = best.interval_s * factor;
      CHECK(goodput(run, gpus).share <= best.share);
    }
    // Young's first-order optimum, good while failures are rare.
    CHECK_THAT(best.interval_s, WithinRel(std::sqrt(2 * 30 * best.mtbf_s), 0.05));
  }
}

TEST_CASE("16,384 GPUs that fail like Meta's keep more than nine tenths of the time") {
  // arXiv:2407.21783, section 3.3.4: 419 unexpected interruptions in 54 days, effective training
  // time higher than 90 %.
  RunLength run;
  run.gpu_mtbf_hours = 16384.0 * 54 * 24 / 419;
  run.checkpoint_s = 10;
  run.restart_s = 600;
  const Goodput g = goodput(run, 16384);
  CHECK_THAT(g.mtbf_s / 3600, WithinRel(54 * 24 / 419.0, 1e-9));
  CHECK(g.share > 0.9);
  CHECK(g.share < 0.97);
}

TEST_CASE("a cluster that fails faster than it restarts gets nothing done") {
  RunLength run;
  run.tokens = 1e9;
  run.gpu_mtbf_hours = 1;
  run.restart_s = 1e7;
  Scenario s = eight_gpus();
  s.run = run;
  CHECK(goodput(run, 1000000).share == 0);
  s.cluster.gpus = 1000000;
  CHECK_FALSE(money_of(s, card_of(1), {1, 1, 1}).has_value());
}

// Points that do so many samples a second at a rent of 1 a card and hour.
std::vector<StudyPoint> sweep(std::initializer_list<std::pair<std::int64_t, double>> rates) {
  std::vector<StudyPoint> out;
  for (const auto& [gpus, rate] : rates) {
    StudyPoint p;
    p.scenario = eight_gpus();
    p.scenario.cluster.gpus = gpus;
    p.scenario.cluster.nodes = 1;
    p.scenario.cost.rent_per_gpu_hour = 1;
    p.scenario.run.tokens = 1e12;
    p.prediction.samples_per_s = rate;
    const double step = samples_of_step(p.scenario) / rate;
    p.money = money_of(p.scenario, card_of(0), {step, step, step});
    out.push_back(std::move(p));
  }
  return out;
}

TEST_CASE("the next card is worth it while it brings half of what the first does") {
  const std::vector<StudyPoint> points = sweep({{4, 300}, {1, 100}, {2, 190}, {8, 400}});
  const std::vector<std::string> axes{"gpus"};
  const std::vector<std::vector<std::string>> at{{"4"}, {"1"}, {"2"}, {"8"}};
  const std::vector<MarginalLine> lines = marginal_lines(points, {axes, at});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].points == std::vector<std::size_t>{1, 2, 0, 3});
  REQUIRE(lines[0].steps.size() == 3);
  CHECK_THAT(lines[0].steps[0].share_of_first, WithinRel(0.9, 1e-12));
  CHECK_THAT(lines[0].steps[1].share_of_first, WithinRel(0.55, 1e-12));
  CHECK_THAT(lines[0].steps[2].share_of_first, WithinRel(0.25, 1e-12));
  CHECK(lines[0].last_worth == 0);  // the point of 4 GPUs
}

TEST_CASE("a day that costs more than it is worth ends the buying") {
  std::vector<StudyPoint> points = sweep({{1, 100}, {2, 180}, {4, 300}});
  for (StudyPoint& p : points) p.scenario.cost.day_worth = 10;
  const std::vector<std::string> axes{"gpus"};
  const std::vector<std::vector<std::string>> at{{"1"}, {"2"}, {"4"}};
  const MarginalLine line = marginal_lines(points, {axes, at}).at(0);
  // 1e9 samples: 1e7 s on one card, 5.556e6 on two, 3.333e6 on four.
  const double one = 1e7 / 86400, two = 1e9 / 180 / 86400, four = 1e9 / 300 / 86400;
  CHECK_THAT(*line.steps[0].days_saved, WithinRel(one - two, 1e-6));
  CHECK_THAT(*line.steps[0].added_cost, WithinRel(24 * (2 * two - one), 1e-6));
  CHECK_THAT(*line.steps[1].cost_per_day,
             WithinRel(24 * (4 * four - 2 * two) / (two - four), 1e-6));
  CHECK(line.steps[0].worth_it == (*line.steps[0].cost_per_day <= 10));
  CHECK(line.last_worth == 1);  // 24 (4 four - 2 two) is 617 for 25.7 days: 24 a day
}

TEST_CASE("added cards have paid for themselves when the rent of what they add is what they lose") {
  std::vector<StudyPoint> points = sweep({{1, 100}, {2, 180}});
  for (StudyPoint& p : points) {
    Scenario& s = p.scenario;
    s.cost = {};
    s.cost.rent_per_gpu_hour = 2;
    s.cost.gpu_price = 10000;
    s.cost.resale_share = 0.25;
    s.cost.power_price_per_kWh = 0.1;
    s.cost.gpu_power_W = 500;
    const double step = samples_of_step(s) / p.prediction.samples_per_s;
    p.money = money_of(s, card_of(500), {step, step, step});
  }
  const std::vector<std::string> axes{"gpus"};
  const std::vector<std::vector<std::string>> at{{"1"}, {"2"}};
  const auto payback = [&] {
    return marginal_lines(points, {axes, at}).at(0).steps.at(0).payback_hours;
  };
  // 80 % more throughput for rent of 2 an hour is worth 1.60; its power costs 0.05. 7,500 are lost.
  CHECK_THAT(*payback(), WithinRel(7500 / 1.55, 1e-9));
  // With perfect scaling the second card pays like the first: money_of()'s break-even.
  points[1].prediction.samples_per_s = 200;
  CHECK_THAT(*payback(), WithinRel(*points[0].money->break_even_hours, 1e-9));
  // Where it adds less than its power costs it never does.
  points[1].prediction.samples_per_s = 102;
  CHECK_FALSE(payback().has_value());
  points[1].prediction.samples_per_s = 180;
  for (StudyPoint& p : points) {
    p.scenario.cost.rent_per_gpu_hour.reset();
    p.money->rent.reset();
  }
  CHECK_FALSE(payback().has_value());  // nobody says what an hour is worth
  // 10 a day that is saved: of 1e7 s on one card 4.44e6 are, while it runs for 5.56e6.
  for (StudyPoint& p : points) {
    p.scenario.cost.day_worth = 10;
    const double run = 1e9 / p.prediction.samples_per_s;
    p.money->run_s = Figure{run, run, run};
  }
  const double days = (1e7 - 1e9 / 180) / 86400;
  CHECK_THAT(*payback(), WithinRel(7500 / (10 * days / (1e9 / 180 / 3600) - 0.05), 1e-9));
}

TEST_CASE("another link may cost as much more as the machines are worth that it replaces") {
  std::vector<StudyPoint> points = sweep({{8, 100}, {8, 125}});
  for (StudyPoint& p : points) {
    p.scenario.cost.rent_per_gpu_hour.reset();
    p.scenario.cost.gpu_price = 1000;
    p.money = money_of(p.scenario, card_of(0), {1, 1, 1});
  }
  const std::vector<std::string> axes{"link"};
  const std::vector<std::vector<std::string>> at{{"a"}, {"b"}};
  const std::vector<Exchanged> found = exchanged(points, {axes, at}, "link");
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0].throughput_ratio, WithinRel(1.25, 1e-12));
  // A quarter more throughput is worth a quarter of the purchase of 8,000.
  CHECK_THAT(*found[0].worth_more_to_buy, WithinRel(2000.0, 1e-9));
  CHECK(exchanged(points, {axes, at}, "gpu").empty());
}

// What one input of the same card makes unsure, by so much of each point's step.
void make_unsure(std::vector<StudyPoint>& points, std::initializer_list<double> log_sd) {
  auto sd = log_sd.begin();
  for (StudyPoint& p : points) {
    p.scenario.cluster.gpu = "card";
    Uncertainty& u = p.uncertainty;
    u.effects[index(StepInput::products)] = u.log_sd = *sd++;
    u.step = interval_of(
        samples_of_step(p.scenario) / p.prediction.samples_per_s, u.log_sd, -1.645, 1.645);
  }
}

const std::vector<std::string> by_gpus{"gpus"};
const std::vector<std::vector<std::string>> one_to_four{{"1"}, {"2"}, {"4"}};
const std::vector<std::vector<std::string>> one_to_two{{"1"}, {"2"}};

TEST_CASE(
    "an error that all counts share moves throughput and days, and no share of the first card") {
  std::vector<StudyPoint> points = sweep({{1, 100}, {2, 180}, {4, 300}});
  make_unsure(points, {0.2, 0.2, 0.2});
  const MarginalLine line = marginal_lines(points, {by_gpus, one_to_four}).at(0);
  for (const MarginalStep& s : line.steps) {
    REQUIRE(s.range.has_value());
    CHECK_THAT(s.range->p5.share_of_first, WithinRel(s.share_of_first, 1e-9));
    CHECK_THAT(s.range->p95.share_of_first, WithinRel(s.share_of_first, 1e-9));
    // e^(0.2 x 1.645) = 1.39 either way, within what so many draws say.
    CHECK_THAT(s.range->p95.throughput_per_gpu / s.throughput_per_gpu,
               WithinRel(std::exp(0.329), 0.05));
    CHECK_THAT(*s.range->p5.days_saved / *s.days_saved, WithinRel(std::exp(-0.329), 0.05));
    // The rent of the added cards buys less: as sure as the throughput.
    CHECK_THAT(*s.range->p95.cost_per_added_million / *s.cost_per_added_million,
               WithinRel(std::exp(0.329), 0.05));
    CHECK((s.range->worth_it == 1 || s.range->worth_it == 0));
  }
  REQUIRE(line.range.has_value());
  CHECK(line.range->same == 1);
  CHECK(line.range->p5 == line.last_worth);
  CHECK(line.range->p95 == line.last_worth);
}

TEST_CASE(
    "where the counts differ in what makes them unsure the number that is worth it is unsure, "
    "too") {
  // Four cards bring 60 % of the first each; they may as well bring less than half.
  std::vector<StudyPoint> points = sweep({{1, 100}, {2, 180}, {4, 300}});
  make_unsure(points, {0, 0, 0.2});
  const MarginalLine line = marginal_lines(points, {by_gpus, one_to_four}).at(0);
  REQUIRE(line.range.has_value());
  CHECK(line.last_worth == 2);
  CHECK(line.range->p5 == 1);
  CHECK(line.range->p95 == 2);
  // Worth it from 280 samples/s on: log(300 / 280) = 0.069 is 0.345 of the standard deviation: 63
  // %.
  CHECK_THAT(line.range->same, WithinRel(0.635, 0.08));
  CHECK(line.range->same == line.steps[1].range->worth_it);
  CHECK(line.steps[0].range->worth_it == 1);
  CHECK_FALSE(
      marginal_lines(sweep({{1, 100}, {2, 180}}), {by_gpus, one_to_two}).at(0).range.has_value());
}

TEST_CASE("a cost that is without end in too many of the draws has no upper end") {
  std::vector<StudyPoint> points = sweep({{1, 100}, {2, 110}});
  make_unsure(points, {0, 0.2});
  const MarginalStep step = marginal_lines(points, {by_gpus, one_to_two}).at(0).steps.at(0);
  CHECK(step.cost_per_added_million.has_value());
  CHECK(step.range->p5.cost_per_added_million.has_value());
  CHECK_FALSE(step.range->p95.cost_per_added_million.has_value());
  CHECK(step.range->p5.throughput_per_gpu < 0);
}

TEST_CASE("every interval of the margin holds its figure") {
  for (const double sd : {0.02, 0.1, 0.5}) {
    std::vector<StudyPoint> points = sweep({{1, 100}, {2, 180}, {4, 300}});
    make_unsure(points, {sd, 1.5 * sd, 2 * sd});
    const MarginalLine line = marginal_lines(points, {by_gpus, one_to_four}).at(0);
    for (const MarginalStep& s : line.steps) {
      CHECK(s.range->p5.throughput_per_gpu <= s.throughput_per_gpu);
      CHECK(s.range->p95.throughput_per_gpu >= s.throughput_per_gpu);
      CHECK(*s.range->p5.cost_per_added_million <= *s.cost_per_added_million);
      CHECK(s.range->p95.cost_per_added_million.value_or(1e300) >= *s.cost_per_added_million);
      CHECK(*s.range->p5.days_saved <= *s.days_saved);
      CHECK(*s.range->p95.days_saved >= *s.days_saved);
    }
  }
}

TEST_CASE("of another link only what differs makes its worth unsure") {
  std::vector<StudyPoint> points = sweep({{8, 100}, {8, 125}});
  make_unsure(points, {0.3, 0.3});
  const std::vector<std::string> axes{"link"};
  const std::vector<std::vector<std::string>> at{{"a"}, {"b"}};
  const Exchanged same = exchanged(points, {axes, at}, "link").at(0);
  CHECK_THAT(same.range->p5.throughput_ratio, WithinRel(1.25, 1e-9));
  CHECK_THAT(*same.range->p95.cost_ratio, WithinRel(*same.cost_ratio, 1e-9));
  make_unsure(points, {0.3, 0.2});
  const Exchanged other = exchanged(points, {axes, at}, "link").at(0);
  CHECK_THAT(other.range->p95.throughput_ratio, WithinRel(1.25 * std::exp(0.1645), 0.03));
  CHECK_THAT(*other.range->p5.worth_per_hour / *other.worth_per_hour,
             WithinRel(std::exp(-0.1645), 0.03));
}

TEST_CASE("a card without a price in the list that was named is not compared by its power") {
  Scenario s = eight_gpus();
  s.cost.list = "mine";
  s.cost.power_price_per_kWh = 0.2;
  const Money missing = *money_of(s, card_of(700), {1, 1, 1});
  CHECK(missing.price_missing);
  CHECK(missing.cheaper() == nullptr);
  s.cost.rent_per_gpu_hour = 2;
  CHECK_FALSE(money_of(s, card_of(700), {1, 1, 1})->price_missing);
  s.cost = {};
  s.cost.power_price_per_kWh = 0.2;  // the cards are there, and no list is said to price them
  CHECK(money_of(s, card_of(700), {1, 1, 1})->own.has_value());

  // Nor is a purchase held against power alone.
  std::vector<StudyPoint> points = sweep({{8, 100}, {8, 125}});
  points[0].scenario.cost.gpu_price = 1000;
  for (StudyPoint& p : points) {
    p.scenario.cost.rent_per_gpu_hour.reset();
    p.scenario.cost.power_price_per_kWh = 0.2;
    p.money = money_of(p.scenario, card_of(700), {1, 1, 1});
    REQUIRE(p.money->own.has_value());
  }
  const std::vector<std::string> axes{"gpu"};
  const std::vector<std::vector<std::string>> at{{"a"}, {"b"}};
  CHECK_FALSE(exchanged(points, {axes, at}, "gpu").at(0).cost_ratio.has_value());
}

}  // namespace
}  // namespace stepsight
