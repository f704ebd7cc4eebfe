// What a diagnosis finds, in the reader's language. The simulator says it in English, where it
// finds it; other languages have a catalogue of those sentences (reports/findings_zh.cpp).
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "reports/words.h"

namespace stepsight {

// An English sentence with places, "{share} of the step", and what is said for it. A place holds
// whatever stands there, itself said in the other language where the catalogue knows it.
struct Finding {
  std::string_view english;
  std::string_view other;
};

std::span<const Finding> chinese_findings();

// The finding as it came where the language is English, or the catalogue does not know it.
std::string said(std::string_view finding, const Words& words);

}  // namespace stepsight
