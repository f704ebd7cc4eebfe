#include "simulate/levers.h"

#include <algorithm>

#include "tests/catch2.h"
#include "tests/simulate/toy_scenario.h"

namespace stepsight {
namespace {

const Lever* find(const std::vector<Lever>& found, LeverKind kind) {
  const auto at = std::ranges::find(found, kind, &Lever::kind);
  return at == found.end() ? nullptr : &*at;
}

std::vector<Lever> levers_of(const Scenario& s, const GpuProfile& gpu) {
  return levers(s, gpu, predict(s, gpu), ModelError{});
}

TEST_CASE("Levers are ranked by gain, and each gain is that of its own scenario simulated") {
  const GpuProfile gpu = with_busbw(toy_gpu(), 3);
  const Scenario s = toy_scenario(8);
  const std::vector<Lever> found = levers_of(s, gpu);
  REQUIRE(found.size() > 2);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Lever& l = found[i];
    INFO(name_of(l.kind));
    CHECK(l.gain > 0);
    if (i > 0) CHECK(found[i - 1].gain >= l.gain);
    CHECK(l.speedup.p50 == Approx(1 + l.gain));
    CHECK(l.speedup.p5 <= l.speedup.p50);
    CHECK(l.speedup.p50 <= l.speedup.p95);
    CHECK(predict(l.scenario, gpu).memory.fits);
    CHECK(predict_step(l.scenario, gpu).value == Approx(l.step.value));
  }
}

TEST_CASE("On a slow link accumulation is a lever, and on one GPU nothing of the exchange is") {
  const GpuProfile gpu = with_busbw(toy_gpu(), 3);
  const Lever* accumulate = nullptr;
  const std::vector<Lever> many = levers_of(toy_scenario(8), gpu);
  accumulate = find(many, LeverKind::accumulate);
  REQUIRE(accumulate != nullptr);
  CHECK_FALSE(accumulate->same_training);
  // Four micro-steps for one exchange: samples a second from the two steps themselves.
  const double before = 4 / predict_step(toy_scenario(8), gpu).value;
  const double after = 16 / accumulate->step.value;
  CHECK(1 + accumulate->gain == Approx(after / before));
  for (const Lever& l : levers_of(toy_scenario(1), gpu)) {
    CHECK(l.kind != LeverKind::accumulate);
    CHECK(l.kind != LeverKind::bucket_size);
    CHECK(l.kind != LeverKind::other_strategy);
  }
}

TEST_CASE("Cards that reach each other through host memory gain by P2P, by class against class") {
  Scenario s = toy_scenario(2);
  s.cluster.link = "pcie3-x8-nop2p";
  const std::vector<Lever> found = levers_of(s, toy_gpu());
  const Lever* direct = find(found, LeverKind::peer_to_peer);
  const Lever* bridge = find(found, LeverKind::nvlink_bridge);
  REQUIRE(direct != nullptr);
  REQUIRE(bridge != nullptr);
  CHECK(bridge->gain > direct->gain);
  CHECK(direct->key.empty());
}

TEST_CASE("Turning the exchange on in each micro-step makes no_sync a lever") {
  Scenario s = toy_scenario(8);
  s.training.accumulation = 4;
  s.parallel.sync_each_micro_step = true;
  const std::vector<Lever> found = levers_of(s, with_busbw(toy_gpu(), 3));
  REQUIRE(find(found, LeverKind::no_sync) != nullptr);
  CHECK(find(found, LeverKind::no_sync)->same_training);
}

TEST_CASE("What disturbs a step is a lever where the scenario says so, and only there") {
  Scenario s = toy_scenario(8);
  const GpuProfile gpu = toy_gpu();
  for (const Lever& l : levers_of(s, gpu)) {
    CHECK(l.kind != LeverKind::equal_ranks);
    CHECK(l.kind != LeverKind::faster_loader);
    CHECK(l.kind != LeverKind::no_stalls);
  }
  s.irregular.slow_factor = 1.5;
  s.irregular.stall_s = predict_step(s, gpu).value;
  s.irregular.stall_steps = 10;
  const std::vector<Lever> slow = levers_of(s, gpu);
  REQUIRE(find(slow, LeverKind::equal_ranks) != nullptr);
  REQUIRE(find(slow, LeverKind::no_stalls) != nullptr);
  CHECK(find(slow, LeverKind::equal_ranks)->gain > 0.2);
  CHECK(find(slow, LeverKind::no_stalls)->gain == Approx(0.1).epsilon(0.2));
  s.irregular = {};
  s.irregular.loader_workers = 1;
  s.irregular.worker_samples_per_s =
      0.4 * static_cast<double>(s.training.batch) / predict_step(s, gpu).value;
  const std::vector<Lever> starved = levers_of(s, gpu);
  REQUIRE(find(starved, LeverKind::faster_loader) != nullptr);
  CHECK(find(starved, LeverKind::faster_loader)->gain == Approx(1).epsilon(1e-6));
}

}  // namespace
}  // namespace stepsight
