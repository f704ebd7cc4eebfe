// Predictions for people (a terminal of 80 columns) and for machines.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"
#include "reports/waterfall_report.h"
#include "reports/words.h"
#include "simulate/levers.h"
#include "simulate/study.h"

namespace stepsight {

struct QuickPrediction;

// What the answers are about.
struct PredictReport {
  std::string title;
  std::vector<std::string> axes;                      // keys given as arrays
  std::vector<std::vector<std::string>> coordinates;  // [point][axis]: the values, as written
  std::vector<StudyPoint> points;                     // at least one
  std::vector<std::string> notes;                     // what the program chose for the user
  std::vector<Lever> levers;  // of the point that the text explains, if asked
  std::optional<StepsBetween>
      between;  // the first point and the one that the text explains, if asked
};

// The point that the text explains: of the largest GPU counts the last one.
std::size_t focus_of(const PredictReport& report);
std::size_t focus_of(std::span<const Scenario> points);

// What a table calls an axis: "GPUs", "model", else its key.
std::string axis_words(std::string_view axis, const Words& words);

// "loader", "host", "link" or "gpu": what a faster one of would shorten the step most.
std::string_view bound_by(const Prediction& prediction);
std::string_view bound_by(const QuickPrediction& prediction);

// "amp-bf16", as scenarios write it.
std::string_view name_of(const Precision& precision);

// `gpu` is the card of the point that focus_of() names.
std::string predict_text(const PredictReport& report,
                         const GpuProfile& gpu,
                         const Words& words = Words());

// One object, {"schema": 1, "title", "axes", "points": [...], "notes"}; times in seconds, sizes in
// bytes, every number to its last digit. A point carries the value of each axis under its key.
std::string predict_json(const PredictReport& report);
// One row a point, with a header; cells are quoted where they must be.
std::string predict_csv(const PredictReport& report);

}  // namespace stepsight
