// A chart's data as JSON: for the report's JSON, and for the script that draws it.
#pragma once
#include <string>

#include "reports/document.h"

namespace stepsight {

// To its last digit; null where it is not finite.
std::string number_json(double value);

std::string chart_json(const Chart& chart);

}  // namespace stepsight
