#include "reports/words.h"

#include <algorithm>
#include <set>

#include "model/errors.h"
#include "reports/certainty.h"
#include "reports/text_table.h"
#include "simulate/waterfall.h"
#include "tests/catch2.h"

namespace stepsight {

namespace {

// "{gpus}" and the like, in any order.
std::multiset<std::string> places(std::string_view text) {
  std::multiset<std::string> out;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find('}', at);
    REQUIRE(end != std::string_view::npos);
    out.emplace(text.substr(at, end - at + 1));
  }
  return out;
}

}  // namespace

TEST_CASE("no catalogue lacks a key, has one twice, or names other values than English does") {
  for (const std::string& language : language_names()) {
    const Words words(language);
    const auto catalogue = language == "en" ? english_words() : chinese_words();
    std::set<std::string_view> keys;
    for (const Phrase& p : catalogue) {
      CHECK(keys.insert(p.key).second);
      CHECK((!p.text.empty() || p.key == "sentence.gap"));
    }
    CHECK(catalogue.size() == english_words().size());
    for (const Phrase& p : english_words()) {
      INFO(language << ": " << p.key);
      REQUIRE(keys.contains(p.key));
      CHECK(places(p.text) == places(words.text(p.key)));
    }
  }
}

TEST_CASE("the Chinese catalogue is Chinese, but for names that stay") {
  const std::set<std::string_view> same{"figure.mfu", "input.flash"};
  const Words words("zh");
  for (const Phrase& p : english_words()) {
    if (p.key == "sentence.gap" || same.contains(p.key)) continue;
    INFO(p.key);
    CHECK(words.text(p.key) != p.text);
    if (p.key == "input.gpu") continue;
    CHECK(std::ranges::any_of(words.text(p.key),
                              [](char c) { return static_cast<unsigned char>(c) > 0x7F; }));
  }
}

TEST_CASE("every input that a prediction can be unsure of has words") {
  for (const std::string& language : language_names()) {
    const Words words(language);
    for (const std::string_view input : step_input_names)
      CHECK_FALSE(input_words(input, words).empty());
    CHECK_FALSE(input_words("the model itself", words).empty());
    CHECK_FALSE(outside_words("shapes far from every measured one", words).empty());
  }
  CHECK(outside_words("matrix products, link bandwidth", Words("zh")) == "矩阵乘，互连带宽");
}

TEST_CASE("every cause of a step's time has words, in English those of the machine's form") {
  for (std::size_t i = 0; i < step_cause_count; ++i) {
    const std::string_view name = name_of(static_cast<StepCause>(i));
    const std::string key = "cause." + std::string(name);
    CHECK(Words("en").text(key) == name);
    CHECK_FALSE(Words("zh").text(key).empty());
  }
}

TEST_CASE("a language that is not there is named as the user's mistake") {
  CHECK_THROWS_AS(Words("xx"), UserError);
}

TEST_CASE(
    "text with ideographs breaks between them, within 80 columns, and loses nothing but blanks") {
  const std::string text =
      "8 张 GPU 完成的工作量是单卡的 7.63 倍（每卡批量不变，扩展效率 95 %）；每步耗时 119 "
      "ms。瓶颈在 GPU 计算：每步有 100 % 的时间在计算。";
  const std::string wrapped = wrap(text);
  std::string joined;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < wrapped.size(); ++i) {
    const auto byte = static_cast<unsigned char>(wrapped[i]);
    if (byte == '\n') {
      columns = 0;
      continue;
    }
    if (byte != ' ') joined += wrapped[i];
    if ((byte & 0xC0U) == 0x80) continue;
    columns += byte >= 0xE0 ? 2 : 1;
    CHECK(columns <= 80);
  }
  std::string whole = text;
  std::erase(whole, ' ');
  CHECK(joined == whole);
  CHECK(wrapped.find('\n') != std::string::npos);
  CHECK(wrap("one two", 5) == "one\ntwo");
}

}  // namespace stepsight
