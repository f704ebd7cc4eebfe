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
  return levers(s, gpu, predict(s, gpu));
}

TEST_CASE("Levers are ranked by gain, and each gain is that of its own scenario simulated") {
  const GpuProfile gpu = with_busbw(toy_gpu(), 3);
  const Scenario s = toy_scenario(8);
  const std::vector<Lever> found = levers_of(s, gpu);
  REQUIRE(found.size() > 2);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Lever& l = found[i];
    INFO(l.change);
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

}  // namespace
}  // namespace stepsight
