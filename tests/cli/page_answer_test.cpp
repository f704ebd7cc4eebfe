#include "cli/page_answer.h"

#include <nlohmann/json.hpp>

#include "cli/report_answer.h"
#include "cli/report_what_if.h"
#include "tests/catch2.h"

namespace stepsight {
namespace {

ScenarioFlags asked(std::initializer_list<std::pair<std::string, std::string>> keys) {
  ScenarioFlags flags;
  for (const auto& [key, value] : keys) flags.give(key, value);
  return flags;
}

ScenarioFlags small() {
  return asked({{"name", "gpt2-124m"},
                {"gpu", "t4"},
                {"gpus", "4"},
                {"link", "pcie3-x16-p2p"},
                {"batch", "2"},
                {"seq", "256"}});
}

WhatIf what_if(const ScenarioFlags& flags) {
  Profiles profiles;
  const FilesRead files;
  const ScenarioReport report = answer_report(flags, profiles);
  const Scenario& focus = report.focus.scenario;
  const auto out = what_if_of(flags, focus, profiles, files, {"", "program", "code"}, Words("en"));
  REQUIRE(out);
  return *out;
}

const WhatIfControl& control(const WhatIf& all, const std::string& key) {
  for (const WhatIfControl& c : all.controls) {
    if (c.key == key) return c;
  }
  FAIL("no control " + key);
  return all.controls.front();
}

TEST_CASE("what a page computes is what a report says") {
  Profiles profiles;
  const ScenarioFlags flags = small();
  const ScenarioReport report = answer_report(flags, profiles);
  const Document document = scenario_page(report, profiles.get("t4"), Words("en"));
  const auto page = nlohmann::json::parse(page_answer(flags, "en", profiles));
  CHECK(page.at("verdict") == document.verdict);
  CHECK(page.at("question") == document.question);
  CHECK(page.at("html") == document_html(document));
  CHECK(page_answer_json(flags, "en", profiles) == document_json(document));
}

TEST_CASE("a question with a mistake is answered with the program's own message") {
  Profiles profiles;
  ScenarioFlags flags = small();
  flags.give("gpus", "none");
  for (const std::string& answer :
       {page_answer(flags, "en", profiles), page_answer_json(flags, "en", profiles)}) {
    const auto said = nlohmann::json::parse(answer);
    REQUIRE(said.size() == 1);
    CHECK_THAT(said.at("error").get<std::string>(), match::ContainsSubstring("--gpus: "));
  }
}

TEST_CASE("every value of a control can be asked, and the own one changes nothing") {
  ScenarioFlags flags = small();
  flags.give("rent_per_gpu_hour", "0.8");
  flags.give("vocab", "50304");
  flags.give("tensor", "2");
  flags.give("vocab", "50304");
  const WhatIf all = what_if(flags);
  CHECK(all.controls.size() == 4);
  for (const WhatIfControl& c : all.controls) {
    INFO(c.key);
    CHECK(c.values.at(c.at).keys.empty());
    for (const WhatIfValue& value : c.values) {
      ScenarioFlags changed = flags;
      for (const auto& [key, text] : value.keys) changed.give(key, text);
      CHECK_NOTHROW(read_question(changed, "report"));
    }
  }
  // One GPU cannot be split in two.
  CHECK(control(all, "gpus").values.front().text == "2");
  CHECK(control(all, "link_speed").values.front().text == "0.1x");
  CHECK(control(all, "rent_per_gpu_hour").values.back().text == "3.2 USD");
}

TEST_CASE("a question without a link has the controls of the one that is chosen for it") {
  const WhatIf all = what_if(asked({{"name", "llama2-7b"},
                                    {"gpu", "h200-sxm"},
                                    {"gpus", "8"},
                                    {"batch", "4"},
                                    {"seq", "2048"}}));
  CHECK(control(all, "gpus").values.back().text == "128");
  CHECK(control(all, "batch").values.size() == 7);  // 1 to 64
  CHECK(control(all, "link_speed").values.size() == 10);
}

TEST_CASE("more GPUs of a cluster are more of its machines") {
  const WhatIf all = what_if(asked({{"name", "gpt2-124m"},
                                    {"gpu", "t4"},
                                    {"gpus", "24"},
                                    {"nodes", "3"},
                                    {"link", "pcie3-x16-p2p+1x100G-ib"},
                                    {"batch", "2"},
                                    {"seq", "256"}}));
  const WhatIfControl& gpus = control(all, "gpus");
  CHECK(gpus.values.at(gpus.at).text == "24");
  const WhatIfValue& twice = gpus.values.at(gpus.values.size() - 1);
  using Keys = std::vector<std::pair<std::string, std::string>>;
  CHECK(twice.keys == Keys{{"gpus", twice.text}, {"gpus_per_node", "8"}});
}

TEST_CASE("a page carries every file that its answer reads") {
  const WhatIf all = what_if(small());
  std::vector<std::string> paths;
  for (const auto& [path, text] : all.files) {
    paths.push_back(path);
    CHECK_FALSE(text.empty());
  }
  CHECK(paths == std::vector<std::string>{"scenarios/errors/model_error.toml",
                                          "scenarios/models/gpt2-124m.toml",
                                          "scenarios/profiles/t4.points.csv",
                                          "scenarios/profiles/t4.toml"});
}

}  // namespace
}  // namespace stepsight
