// How sure a prediction is, for people: the table of intervals, what is least sure, what to
// measure.
#pragma once
#include <string>
#include <string_view>

#include "reports/predict_report.h"
#include "reports/words.h"

namespace stepsight {

// The 90 % intervals of the main table's figures, a row a point. Empty for points without.
std::string intervals_table(const PredictReport& report, const Words& words);

// The largest contributions, the measurement that narrows most, and what lies outside calibration.
std::string certainty(const Uncertainty& uncertainty, const Words& words);

// "105 to 130 ms": a unit that both share is said once.
std::string format_range(const std::string& low, const std::string& high, const Words& words);

// An input of the step as Contribution::input names it, and the list that Uncertainty::outside is.
std::string input_words(std::string_view input, const Words& words);
std::string outside_words(std::string_view inputs, const Words& words);

}  // namespace stepsight
