#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "reports/diagnose_report.h"
#include "reports/json_parts.h"
#include "reports/predict_report.h"
#include "reports/validate_report.h"
#include "tests/catch2.h"

namespace stepsight {

namespace {

const std::string bad = "run\xFF\xC3(\xE6\x97";  // as Latin-1 and cut text look

}  // namespace

TEST_CASE("text that is no UTF-8 becomes a replacement character in JSON, in keys and in values") {
  const nlohmann::ordered_json json{{bad, {bad, 1}}};
  for (const int indent : {-1, 1, 2}) {
    const auto read = nlohmann::json::parse(json_text(json, indent));
    CHECK(read.begin().key().starts_with("run\xEF\xBF\xBD"));
    CHECK(read.begin().value()[1] == 1);
  }
  CHECK(json_text({{"a", 1}}, -1) == "{\"a\":1}");
}

TEST_CASE("a table of runs with ids that are no UTF-8 is validated and diagnosed as JSON") {
  Validation validation;
  validation.rows = 1;
  validation.refused[bad] = 1;
  validation.points.push_back({});
  ValidationPoint& p = validation.points.back();
  p.id = bad;
  p.measured_s = p.predicted_s = 1;
  for (const char* group : {"source", "gpu", "model", "table"}) p.groups[group] = bad;
  CHECK(nlohmann::json::parse(validation_json(validation))["points"].size() == 1);
  CHECK(
      nlohmann::json::parse(diagnoses_json({{{bad, {}, {}, {bad}}}, {bad}, bad}))["runs"].size() ==
      1);
}

TEST_CASE("nothing but json_text turns JSON into text") {
  // nlohmann's dump() throws on text that is no UTF-8, which is what people's files may hold.
  for (const char* folder : {"reports", "cli", "simulate", "model"}) {
    const std::filesystem::path root = std::string(STEPSIGHT_SOURCE_DIR "/") + folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".cpp" || entry.path().filename() == "json_parts.cpp")
        continue;
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      INFO(entry.path());
      CHECK(text.find(".dump(") == std::string::npos);
    }
  }
}

}  // namespace stepsight
