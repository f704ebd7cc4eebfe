#include "reports/link_report.h"

#include "tests/catch2.h"

using namespace stepsight;

namespace {

LinkFacts by_class(const char* name) {
  return {name, std::nullopt, parse_link_class(name)};
}

}  // namespace

TEST_CASE("a class is shown for the groups that it is asked about most") {
  const auto inside = groups_to_show(by_class("pcie4-x16-p2p"), CollectiveKind::all_reduce);
  REQUIRE(inside.size() == 3);
  CHECK(inside.front().ranks == 2);
  CHECK(inside.back().ranks == 8);
  const auto across = groups_to_show(by_class("8x400G-ib"), CollectiveKind::all_reduce);
  REQUIRE(across.size() == 4);
  CHECK(across.back().ranks == 64);
  CHECK(across.back().nodes == 8);
  CHECK(groups_to_show(by_class("wire"), CollectiveKind::all_reduce).empty());
}

TEST_CASE("a report says that a class was not measured, and fits a terminal") {
  for (const char* name : {"pcie4-x16-nop2p", "nvlink4-nvswitch+8x400G-ib"}) {
    const std::string text = link_report_text(by_class(name));
    CHECK_THAT(text, match::ContainsSubstring("+-40 %"));
    CHECK_THAT(text, match::ContainsSubstring("1 GiB"));
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = text.find('\n', begin);
      CHECK(end - begin <= 80);
      begin = end + 1;
    }
  }
}

TEST_CASE("a verdict is a sentence, a table and its causes") {
  LinkVerdict v;
  v.health = LinkHealth::low;
  v.ratio = 0.56;
  v.rows = {{1048576, 5.6, 10}};
  v.causes = {"the cable"};
  const std::string text =
      link_verdict_text(by_class("pcie4-x16-p2p"), {CollectiveKind::all_reduce, 2, 1}, v);
  CHECK_THAT(text, match::StartsWith("low: 56 % of the bus bandwidth that pcie4-x16-p2p has"));
  CHECK_THAT(text, match::ContainsSubstring("0.56"));
  CHECK_THAT(text, match::ContainsSubstring("- the cable"));
}
