// Whether somebody reads along, and in colour.
#pragma once
#include <string>

namespace stepsight {

// Colours on standard output: it is a terminal that has them, and NO_COLOR is not set
// (no-color.org).
bool colours_wanted();

// A text for people: to the file, plain; to standard output, coloured where wanted, when `file` is
// empty or "-".
void write_text(const std::string& file, const std::string& text);

}  // namespace stepsight
