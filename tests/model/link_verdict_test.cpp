#include "model/link_verdict.h"

#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

LinkFacts by_class(const char* name) {
  return {name, std::nullopt, parse_link_class(name)};
}

// A sweep of a machine that is of class `truth`, judged as one of class `name`.
LinkVerdict judge(const char* name,
                  const char* truth,
                  CollectiveGroup group,
                  std::vector<std::string> transports = {}) {
  const auto curve = link_curve(by_class(truth), group)->curve;
  std::vector<MeasuredBusbw> points;
  for (double bytes = 1024; bytes < 2e9; bytes *= 4) {
    const double time = cost(curve, Bytes{bytes}).time.value;
    points.push_back({bytes, bytes * traffic_factor(group.kind, group.ranks) / time / 1e9});
  }
  return judge_link(by_class(name), group, points, transports);
}

constexpr CollectiveGroup pair{CollectiveKind::all_reduce, 2, 1};
constexpr CollectiveGroup two_machines{CollectiveKind::all_reduce, 16, 2};

}  // namespace

TEST_CASE("a machine that is what it should be is fine") {
  const LinkVerdict v = judge("nvlink4-nvswitch", "nvlink4-nvswitch", pair);
  CHECK(v.health == LinkHealth::fine);
  CHECK(v.ratio == Approx(1));
  CHECK(v.latency_ratio == Approx(1));
  CHECK(v.causes.empty());
}

TEST_CASE("P2P that is off is found by its bandwidth, and by the log") {
  const LinkVerdict v = judge("pcie4-x16-p2p", "pcie4-x16-nop2p", pair);
  CHECK(v.health == LinkHealth::broken);
  REQUIRE_FALSE(v.causes.empty());
  std::string all;
  for (const std::string& cause : v.causes) all += cause;
  CHECK_THAT(all, match::ContainsSubstring("without P2P"));
  const LinkVerdict said = judge("pcie4-x16-p2p", "pcie4-x16-nop2p", pair, {"SHM/direct/direct"});
  CHECK_THAT(said.causes.front(), match::ContainsSubstring("the log says SHM"));
}

TEST_CASE("56 % of line rate between machines points at GPUDirect") {
  const LinkVerdict v =
      judge("nvlink3-nvswitch+2x200G-ib", "nvlink3-nvswitch+2x200G-ib-nogdr", two_machines);
  CHECK(v.health == LinkHealth::low);
  CHECK(v.ratio == Approx(0.56).epsilon(0.05));
  REQUIRE_FALSE(v.causes.empty());
  CHECK_THAT(v.causes.front(), match::ContainsSubstring("GPUDirect"));
}

TEST_CASE("TCP in place of RDMA is broken") {
  const LinkVerdict v = judge(
      "nvlink4-nvswitch+8x400G-ib", "nvlink4-nvswitch+8x400G-tcp", two_machines, {"NET/Socket"});
  CHECK(v.health == LinkHealth::broken);
  CHECK_THAT(v.causes.front(), match::ContainsSubstring("NET/Socket"));
}

TEST_CASE("half of a bridge's links is found") {
  const LinkVerdict v = judge("nvlink4-bridge-pcie5", "nvlink4-bridge-nv6-pcie5", pair);
  CHECK(v.health == LinkHealth::low);
  REQUIRE_FALSE(v.causes.empty());
  CHECK_THAT(v.causes.front(), match::ContainsSubstring("one in 2 NVLinks"));
}

TEST_CASE("a machine may be better than its class") {
  CHECK(judge("pcie3-x16-p2p", "pcie5-x16-p2p", pair).health == LinkHealth::fast);
}

TEST_CASE("a name without a curve cannot be judged") {
  const std::vector<MeasuredBusbw> points{{1e6, 1}};
  CHECK_THAT(message_of([&] { judge_link(by_class("wire"), pair, points, {}); }),
             match::ContainsSubstring("neither a measured link nor a link class"));
}
