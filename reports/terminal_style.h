// Colour for texts that a person reads on a terminal; everybody else gets them plain.
#pragma once
#include <string>
#include <string_view>

namespace stepsight {

// The same text with ANSI colours: bars, rules, verdicts that need attention. Without the sequences
// it is the text as it was.
std::string with_colours(std::string_view text);

}  // namespace stepsight
