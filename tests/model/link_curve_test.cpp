#include "model/link_curve.h"

#include "tests/catch2.h"

using namespace stepsight;

namespace {

CollectiveCurve curve(std::int64_t ranks, CollectiveParameters<double> p) {
  return {"box", CollectiveKind::all_reduce, ranks, p, {}, "a test"};
}

// Two cards at 20 GB/s, eight at 2: what was measured of a machine whose class promises more.
LinkFacts box() {
  MeasuredLink m;
  m.name = "box";
  m.link_class = *parse_link_class("pcie4-x16-p2p-1s");
  m.curves = {curve(2, {10, 20, 20}), curve(8, {40, 80, 2})};
  return {"box", m, std::nullopt};
}

}  // namespace

TEST_CASE("a measured group size is returned as it is") {
  const auto found = link_curve(box(), {CollectiveKind::all_reduce, 2, 1});
  REQUIRE(found);
  CHECK(found->origin == CurveOrigin::measured);
  CHECK(found->curve.parameters.busbw_GBps == 20);
}

TEST_CASE("between measured group sizes the class is bent to what its neighbours show") {
  const LinkFacts link = box();
  const auto four = link_curve(link, {CollectiveKind::all_reduce, 4, 1});
  REQUIRE(four);
  CHECK(four->origin == CurveOrigin::interpolated);
  // On one socket the class has the same bandwidth at every size, so its correction alone moves:
  // half way between 2 and 8 in powers of two, the geometric mean.
  CHECK(four->curve.parameters.busbw_GBps == Approx(std::sqrt(20.0 * 2.0)));
  // Beyond the ends the nearest correction holds.
  const auto sixteen = link_curve(link, {CollectiveKind::all_reduce, 16, 1});
  CHECK(sixteen->curve.parameters.busbw_GBps == Approx(2));
}

TEST_CASE("a kind that nobody measured goes by the class") {
  const auto gather = link_curve(box(), {CollectiveKind::all_gather, 2, 1});
  REQUIRE(gather);
  CHECK(gather->origin == CurveOrigin::class_value);
  CHECK(describe(gather->origin) == "class value, +-40 %");
}

TEST_CASE("measured machines do not speak for several of them") {
  LinkFacts link = box();
  link.measured->link_class = *parse_link_class("pcie4-x16-p2p-1s+2x100G-ib");
  const auto across = link_curve(link, {CollectiveKind::all_reduce, 8, 2});
  REQUIRE(across);
  CHECK(across->origin == CurveOrigin::class_value);
}

TEST_CASE("a name that means nothing has no curve") {
  CHECK_FALSE(link_curve({"wire", std::nullopt, std::nullopt}, {CollectiveKind::all_reduce, 2, 1}));
}
