// How sure a prediction is, for people: the table of intervals, what is least sure, what to measure.
#pragma once
#include <string>

#include "reports/predict_report.h"

namespace stepsight {

// The 90 % intervals of the main table's figures, a row a point. Empty for points without.
std::string intervals_table(const PredictReport& report);

// The largest contributions, the measurement that narrows most, and what lies outside calibration.
std::string certainty(const Uncertainty& uncertainty);

// "105 to 130 ms": a unit that both share is said once.
std::string format_range(const std::string& low, const std::string& high);

}  // namespace stepsight
