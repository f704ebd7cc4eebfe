// What a prediction's reports promise for the cards that come with the program, whatever was
// measured of them.
#include "reports/predict_report.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "model/io/profile_file.h"
#include "model/io/scenario_file.h"
#include "reports/text_width.h"
#include "tests/catch2.h"

namespace stepsight {
namespace {

using nlohmann::json;

const GpuProfile& h200() {
  static const GpuProfile gpu = read_profile("h200-sxm");
  return gpu;
}

PredictReport report_of(const ScenarioFile& file) {
  PredictReport report;
  report.title = file.title;
  report.axes = file.axes;
  for (std::size_t i = 0; i < file.points.size(); ++i) {
    const std::vector<std::size_t> at = coordinates(file, i);
    auto& values = report.coordinates.emplace_back();
    for (std::size_t a = 0; a < at.size(); ++a) values.push_back(file.axis_values[a][at[a]]);
  }
  report.points = study(
      file.points, [](const std::string&) -> const GpuProfile& { return h200(); }, ModelError{});
  return report;
}

PredictReport scenario(const std::string& name) {
  return report_of(read_scenario(STEPSIGHT_SOURCE_DIR "/scenarios/" + name + ".toml"));
}

std::vector<PredictReport> examples() {
  return {scenario("second_card"),
          scenario("strong_scaling"),
          scenario("own_model"),
          scenario("one_card_loopback")};
}

std::size_t longest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(in, line);) longest = std::max(longest, text_width(line));
  return longest;
}

// Every number of a document; null stands where a figure does not exist.
void check_finite(const json& value) {
  if (value.is_structured()) {
    for (const json& item : value) check_finite(item);
  } else if (value.is_number()) {
    CHECK(std::isfinite(value.get<double>()));
  }
}

}  // namespace

TEST_CASE("No line of a prediction is wider than 80 columns") {
  for (const PredictReport& report : examples()) {
    for (const std::string& language : language_names()) {
      const std::string text = predict_text(report, h200(), Words(language));
      INFO(text);
      CHECK(longest_line(text) <= 80);
    }
  }
}

TEST_CASE("One GPU communicates with nobody and is its own yardstick") {
  const json points = json::parse(predict_json(scenario("second_card")))["points"];
  const json& one = points.front();
  REQUIRE(one["gpus"] == 1);
  CHECK(one["communication_s"] == 0);
  CHECK(one["exposed_communication_s"] == 0);
  CHECK(one["message_bytes"] == 0);
  CHECK(one["weak"]["speedup"] == 1);
  CHECK(one["strong"]["efficiency"] == 1);
  CHECK(one["attribution_s"]["alone"] == one["step_time_s"]);
}

TEST_CASE("The causes in the JSON add up to the step") {
  for (const PredictReport& report : examples()) {
    const json document = json::parse(predict_json(report));
    for (const json& p : document["points"]) {
      double sum = 0;
      for (const json& part : p["attribution_s"]) sum += part.get<double>();
      CHECK(sum == Approx(p["step_time_s"].get<double>()).epsilon(1e-9));
    }
  }
}

TEST_CASE("The JSON's figures agree with each other and are finite") {
  for (const PredictReport& report : examples()) {
    const json document = json::parse(predict_json(report));
    check_finite(document);
    CHECK(document["points"].size() == report.points.size());
    for (const json& p : document["points"]) {
      const double step = p["step_time_s"];
      const double gpus = p["gpus"];
      const double samples = gpus * p["batch"].get<double>() * p["accumulation"].get<double>();
      CHECK(p["samples_per_s"].get<double>() == Approx(samples / step));
      CHECK(p["tokens_per_s"].get<double>() == Approx(samples * p["seq"].get<double>() / step));
      // speed-up by its definition: T(1) N / T(N) for N times the work.
      const double speedup = p["weak"]["one_gpu_step_s"].get<double>() * gpus / step;
      CHECK(p["weak"]["speedup"].get<double>() == Approx(speedup));
      CHECK(p["weak"]["efficiency"].get<double>() == Approx(speedup / gpus));
      CHECK(p["exposed_communication_s"].get<double>() <=
            p["communication_s"].get<double>() * (1 + 1e-12));
    }
  }
}

TEST_CASE("Every row of a sweep says where it stands on each axis") {
  const std::vector<KeyFlag> flags{{"--model", "name", "gpt2-124m"},
                                   {"--gpu", "gpu", "h200-sxm"},
                                   {"--precision", "precision", "bf16,fp32"},
                                   {"--optimizer", "optimizer", "sgd,adamw"},
                                   {"--vocab", "vocab", "50304,50432"}};
  const PredictReport report = report_of(scenario_from_flags(flags));
  const json document = json::parse(predict_json(report));
  REQUIRE(document["points"].size() == 8);
  std::set<std::string> places;
  for (const json& p : document["points"]) {
    CHECK(p["vocab"].is_number_integer());
    places.insert(json{p["precision"], p["optimizer"], p["vocab"]}.dump());
  }
  CHECK(places.size() == 8);
  const std::string csv = predict_csv(report);
  CHECK(csv.starts_with("optimizer,vocab,model,"));
  CHECK(std::ranges::count(csv, '\n') == 9);
  CHECK(csv.find("\nsgd,50432,gpt2-124m,") != std::string::npos);
}

TEST_CASE("A batch that cannot be shared out has no strong scaling") {
  const std::vector<KeyFlag> flags{{"--model", "name", "gpt2-124m"},
                                   {"--gpu", "gpu", "h200-sxm"},
                                   {"--link", "link", "nvlink4-nvswitch"},
                                   {"--gpus", "gpus", "1,8"},
                                   {"--batch", "batch", "4"}};
  const json points = json::parse(predict_json(report_of(scenario_from_flags(flags))))["points"];
  CHECK(points[0]["strong"].is_object());
  CHECK(points[1]["strong"].is_null());
}

TEST_CASE("A name with a comma stays one cell of the CSV") {
  PredictReport report = scenario("second_card");
  report.points.front().scenario.model.name = "mine, \"best\"";
  CHECK(predict_csv(report).find("\n\"mine, \"\"best\"\"\",h200-sxm,") != std::string::npos);
}

TEST_CASE("The point explained is the last of those with most GPUs") {
  PredictReport report = scenario("own_model");
  REQUIRE(report.points.size() == 6);
  CHECK(focus_of(report) == 5);
  std::swap(report.points[1], report.points[5]);  // 2 GPUs last
  CHECK(focus_of(report) == 2);
}

TEST_CASE("An unaligned vocabulary is worth a hint, a padded one is not") {
  const auto text = [](const std::string& vocab) {
    const std::vector<KeyFlag> flags{{"--model", "name", "gpt2-355m"},
                                     {"--gpu", "gpu", "h200-sxm"},
                                     {"--batch", "batch", "16"},
                                     {"--vocab", "vocab", vocab}};
    return predict_text(report_of(scenario_from_flags(flags)), h200());
  };
  CHECK_THAT(text("50257"), match::ContainsSubstring("vocabulary padded to 50304"));
  CHECK(text("50304").find("Hint:") == std::string::npos);
}

}  // namespace stepsight
