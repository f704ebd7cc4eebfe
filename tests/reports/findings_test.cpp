#include "reports/findings.h"

#include <algorithm>
#include <set>

#include "reports/text_width.h"
#include "tests/catch2.h"

namespace stepsight {

namespace {

std::multiset<std::string> places(std::string_view text) {
  std::multiset<std::string> out;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    out.emplace(text.substr(at, text.find('}', at) - at + 1));
  }
  return out;
}

}  // namespace

TEST_CASE("every finding is Chinese, stands once, and keeps the values of the English one") {
  std::set<std::string_view> seen;
  for (const Finding& f : chinese_findings()) {
    INFO(f.english);
    CHECK(seen.insert(f.english).second);
    CHECK(places(f.english) == places(f.other));
    CHECK(
        std::ranges::any_of(f.other, [](char c) { return static_cast<unsigned char>(c) > 0x7F; }));
    // The whole of it is found, and not a more general one before it.
    CHECK(said(f.english, Words("zh")) == f.other);
    CHECK(said(f.english, Words()) == f.english);
  }
}

TEST_CASE("a finding's values are said in Chinese, too, and what is not known stays as it is") {
  const Words zh("zh");
  CHECK(said("would be explained by: a card's slot has 4 lanes", zh) ==
        "可能的解释：某张卡的插槽只有 4 条通道");
  CHECK(said("communication takes 0.5 s of a step of 0.4 s: a part cannot be longer than the whole",
             zh) == "通信占 0.4 s 一步中的 0.5 s：部分不可能比整体长");
  CHECK(said("as fast as this machine lets it be (54 % of N times one): communication that nothing "
             "hides takes "
             "31 % of the step",
             zh) == "已达到这台机器能给的速度（单卡 N 倍的 54 %）：无法掩盖的通信占每步的 31 %");
  CHECK(said("nobody has said this before", zh) == "nobody has said this before");
  CHECK(said("", zh).empty());
}

}  // namespace stepsight
