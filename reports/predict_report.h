// Predictions for people (a terminal of 80 columns) and for machines.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/profile.h"
#include "simulate/study.h"

namespace stepsight {

// What the answers are about.
struct PredictReport {
  std::string title;
  std::vector<std::string> axes;                      // keys given as arrays
  std::vector<std::vector<std::string>> coordinates;  // [point][axis]: the values, as written
  std::vector<StudyPoint> points;
  std::vector<std::string> notes;  // what the program chose for the user
};

// `gpu` is the card of the last point.
std::string predict_text(const PredictReport& report, const GpuProfile& gpu);
std::string predict_json(const PredictReport& report);
std::string predict_csv(const PredictReport& report);

}  // namespace stepsight
