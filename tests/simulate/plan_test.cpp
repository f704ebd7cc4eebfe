#include "simulate/plan.h"

#include <algorithm>

#include "model/scenario_rules.h"
#include "simulate/predict.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

namespace stepsight {
namespace {

const GpuProfile& card() {
  static const GpuProfile gpu = [] {
    GpuProfile out = with_every_collective(toy_gpu());
    out.memory_bytes = 16e9;
    out.power_W = 500;
    return out;
  }();
  return gpu;
}
const GpuProfile& card_of(const std::string& /*name*/) {
  return card();
}

// A small Llama on 2, 4 and 8 cards of which few plans fit.
PlanSpace small_space() {
  PlanSpace space;
  Scenario s = toy_scenario(2);
  s.training.global_batch = 16;
  s.training.seq = 2048;
  s.cost.rent_per_gpu_hour = 1;
  s.run.tokens = 1e9;
  space.bases = {s};
  space.gpus = {2, 4, 8};
  return space;
}

TEST_CASE(
    "a mixture's experts are shared out where that is faster or alone fits, and nothing else is "
    "missed") {
  PlanSpace space = small_space();
  space.gpus = {4, 8};
  ModelShape& m = space.bases.front().model;
  m.experts = 8;
  m.experts_per_token = 2;
  m.expert_ffn = 1024;
  space.tensor = {1};
  space.recompute = {Recompute::none};
  const PlanResult pruned = plan(space, card_of, {2, false, {}});
  const PlanResult full = plan(space, card_of, {2, true, {}});
  REQUIRE(pruned.groups.size() == full.groups.size());
  REQUIRE_FALSE(full.groups.empty());
  for (std::size_t g = 0; g < full.groups.size(); ++g) {
    CHECK(pruned.groups[g].candidate == full.groups[g].candidate);
  }
  for (const std::int32_t expert : {1, 2, 4, 8}) {
    CHECK(std::ranges::any_of(full.candidates,
                              [&](const PlanCandidate& c) { return c.expert == expert; }));
  }
  for (const PlanCandidate& c : full.candidates) {
    CHECK(c.gpus / c.tensor / c.context / c.pipeline % c.expert == 0);
  }
  space.expert = {2};
  for (const PlanCandidate& c : candidates_of(space)) CHECK(c.expert == 2);
  space.expert.clear();
  m.experts = 0;
  for (const PlanCandidate& c : candidates_of(space)) CHECK(c.expert == 1);
}

TEST_CASE("the best plan is the one that an exhaustive search finds") {
  const PlanSpace space = small_space();
  const PlanResult pruned = plan(space, card_of, {2, false, {}});
  const PlanResult full = plan(space, card_of, {2, true, {}});
  REQUIRE(pruned.groups.size() == 3);
  REQUIRE(full.groups.size() == 3);
  for (std::size_t g = 0; g < 3; ++g) {
    CHECK(pruned.groups[g].candidate == full.groups[g].candidate);
    CHECK(pruned.groups[g].step_s == full.groups[g].step_s);
  }
  const auto simulated = static_cast<std::size_t>(Fate::simulated);
  CHECK(pruned.counts[simulated] < full.counts[simulated] / 2);
  CHECK(full.counts[static_cast<std::size_t>(Fate::bound)] == 0);

  // And the one that predict() finds, asked about every candidate.
  for (const GroupBest& group : full.groups) {
    const std::int32_t gpus = full.candidates[group.candidate].gpus;
    double best = 1e300;
    for (const PlanCandidate& c : full.candidates) {
      const Scenario s = scenario_of(space, c);
      if (c.gpus != gpus || !violations(s).empty()) continue;
      const Prediction p = predict(s, card());
      if (p.memory.fits) best = std::min(best, p.step.value);
    }
    CHECK(group.step_s == best);
  }
}

TEST_CASE("no step is shorter than its bound, and what is too large for its states does not fit") {
  const PlanSpace space = small_space();
  const PlanResult full = plan(space, card_of, {1, true, {}});
  std::size_t looked_at = 0;
  for (std::size_t i = 0; i < full.judged.size(); ++i) {
    const Judged& j = full.judged[i];
    if (j.fate == Fate::simulated) {
      CHECK(j.step_s >= j.least_s * (1 - 1e-9));
      ++looked_at;
    }
    if (j.fate == Fate::states) {
      CHECK_FALSE(predict(scenario_of(space, full.candidates[i]), card()).memory.fits);
    }
  }
  CHECK(looked_at > 50);
}

TEST_CASE("every candidate has one fate, whatever the number of threads") {
  const PlanSpace space = small_space();
  const PlanResult one = plan(space, card_of, {1, false, {}});
  const PlanResult five = plan(space, card_of, {5, false, {}});
  std::size_t all = 0;
  for (const std::size_t n : one.counts) all += n;
  CHECK(all == one.candidates.size());
  CHECK(one.counts == five.counts);
  for (std::size_t i = 0; i < one.judged.size(); ++i) {
    CHECK(one.judged[i].fate == five.judged[i].fate);
    CHECK(one.judged[i].step_s == five.judged[i].step_s);
  }
}

TEST_CASE("given values are the only ones that are tried") {
  PlanSpace space = small_space();
  space.gpus = {8};
  space.tensor = {2};
  space.pipeline = {1, 2};
  space.strategies = {Strategy::zero1};
  space.recompute = {Recompute::full};
  space.micro_batch = {1, 3};
  for (const PlanCandidate& c : candidates_of(space)) {
    CHECK(c.tensor == 2);
    CHECK(c.pipeline <= 2);
    CHECK(c.strategy == Strategy::zero1);
    CHECK(c.recompute == Recompute::full);
    CHECK(c.micro_batch == 1);  // 3 does not divide 16 sequences
    const Scenario s = scenario_of(space, c);
    CHECK(s.training.batch * s.training.accumulation * 8 / c.tensor / c.pipeline == 16);
  }
  CHECK(candidates_of(space).size() > 4);
}

TEST_CASE("more cards are faster, fewer are cheaper, and a deadline decides between them") {
  PlanSpace space = small_space();
  const PlanResult free = plan(space, card_of, {1, false, {}});
  REQUIRE(free.fastest.has_value());
  REQUIRE(free.cheapest.has_value());
  const GroupBest& fastest = free.groups[*free.fastest];
  const GroupBest& cheapest = free.groups[*free.cheapest];
  CHECK(free.candidates[fastest.candidate].gpus == 8);
  CHECK(fastest.on_front);
  CHECK(cheapest.on_front);
  CHECK(cheapest.money->rent->per_run->value <= fastest.money->rent->per_run->value);

  // A deadline between the two best: the slower machines are out.
  const double between = 0.5 * (free.groups[0].money->run_s->value + fastest.money->run_s->value);
  for (Scenario& base : space.bases) base.limits.deadline_days = between / 86400;
  const PlanResult late = plan(space, card_of, {1, false, {}});
  REQUIRE(late.cheapest.has_value());
  CHECK(late.candidates[late.groups[*late.cheapest].candidate].gpus > 2);
  CHECK(late.counts[static_cast<std::size_t>(Fate::limits)] > 0);
  for (const GroupBest& g : late.groups) {
    CHECK(g.within_limits == (g.money->run_s->value <= between));
  }

  // 1.5 kW feed two cards of 500 W, not four.
  for (Scenario& base : space.bases) {
    base.limits = {};
    base.limits.power_limit_kW = 1.5;
  }
  const PlanResult fed = plan(space, card_of, {1, false, {}});
  REQUIRE(fed.groups.size() == 1);
  CHECK(fed.candidates[fed.groups[0].candidate].gpus == 2);
}

TEST_CASE("the losers are the best of every other value") {
  const PlanSpace space = small_space();
  const PlanResult full = plan(space, card_of, {1, true, {}});
  const GroupBest& best = full.groups[*full.fastest];
  const std::vector<Loser> losers = losers_of(space, full, best);
  CHECK(losers.size() > 8);
  for (const Loser& l : losers) {
    INFO(l.key << " = " << l.value);
    CHECK(full.candidates[l.candidate].gpus == full.candidates[best.candidate].gpus);
    if (l.judged.fate == Fate::simulated) CHECK(l.judged.step_s >= best.step_s);
  }
}

TEST_CASE(
    "plans are compared on the same machines only: the losers of one length of sequence have it, "
    "too") {
  PlanSpace space = small_space();
  space.gpus = {4};
  Scenario longer = space.bases[0];
  longer.training.seq = 1024;
  space.bases.push_back(longer);
  const PlanResult full = plan(space, card_of, {1, true, {}});
  REQUIRE(full.groups.size() == 2);
  for (const GroupBest& best : full.groups) {
    const std::uint32_t base = full.candidates[best.candidate].base;
    const std::vector<Loser> losers = losers_of(space, full, best);
    CHECK(losers.size() > 5);
    for (const Loser& l : losers) {
      INFO(l.key << " = " << l.value);
      CHECK(full.candidates[l.candidate].base == base);
    }
  }
}

TEST_CASE(
    "every choice that divides: a reduced space has as many candidates as one counts by hand") {
  PlanSpace space = small_space();
  space.gpus = {2};
  space.pipeline = {1};
  space.strategies = {Strategy::ddp, Strategy::zero1};
  space.sequence = {};
  // tp1: 2 strategies x micro-batches 1, 2, 4, 8 of 8 sequences x 2 ways to recompute; tp2: one
  // rank of data, but the strategies are given: 2 x micro-batches 1, 2, 4, 8, 16 x 2 x with and
  // without sequence parallel.
  CHECK(candidates_of(space).size() == 2 * 4 * 2 + 2 * 5 * 2 * 2);
}

}  // namespace
}  // namespace stepsight
