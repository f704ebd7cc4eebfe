// Nine of ten 90 % intervals hold what was measured.
#include <string>

#include "cli/predicted_runs.h"
#include "model/io/model_error_file.h"
#include "tests/catch2.h"

namespace stepsight {
namespace {

ErrorSummary coverage_of(const std::string& file) {
  const auto runs = read_runs(STEPSIGHT_SOURCE_DIR "/tests/validation/" + file);
  return predict_runs(runs, "", read_model_error()).validation.all();
}

TEST_CASE("Runs on two cards, none of which taught the model's error, lie within their intervals") {
  const ErrorSummary s = coverage_of("own_two_gpus_runs.csv");
  CHECK(s.intervals == 42);
  CHECK(s.coverage90 >= 0.75);
  CHECK(s.median_width < 1);
}

TEST_CASE("Own runs on one card lie within their intervals") {
  const ErrorSummary s = coverage_of("own_h200_runs.csv");
  CHECK(s.intervals >= 60);
  CHECK(s.coverage90 >= 0.85);
  CHECK(s.median_width < 0.5);
}

TEST_CASE("Public rows lie within intervals that other sources and cards taught") {
  const auto runs = read_runs(STEPSIGHT_SOURCE_DIR "/tests/validation/public_bert_runs.csv");
  PredictedRuns predicted = predict_runs(runs, "", read_model_error());
  hold_out_groups(predicted);
  const ErrorSummary s = predicted.validation.all();
  CHECK(s.intervals >= 100);
  CHECK(s.coverage90 >= 0.85);
  CHECK(s.coverage90 <= 0.98);
}

}  // namespace
}  // namespace stepsight
