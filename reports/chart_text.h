// Figures of charts as words, by their unit.
#pragma once
#include <string>

namespace stepsight {

// A value beside its bar: "12.3 ms", "4.00x", "98.0 %".
std::string value_text(double value, const std::string& unit);
// A shorter form for an axis.
std::string axis_text(double value, const std::string& unit);

}  // namespace stepsight
