// The answer in a sentence or two, in the reader's language.
#pragma once
#include <string>
#include <string_view>

#include "reports/words.h"
#include "simulate/study.h"

namespace stepsight {

// How much faster it gets, how long a step takes, and what holds it up.
std::string verdict(const StudyPoint& point, const Words& words);

// What sets the pace, with what would help.
std::string pace_sentence(const Prediction& prediction, const Words& words);

// Whether it fits, and the largest batch that does.
std::string memory_sentence(const Memory& memory, double card_bytes, const Words& words);

// All of it as paragraphs for a terminal of 80 columns, each after an empty line.
std::string verdict_text(const StudyPoint& point, const GpuProfile& gpu, const Words& words);

// As wrap() does, for text that also breaks between ideographs, which take two columns each.
std::string wrap_wide(std::string_view text, std::size_t room = 80);

}  // namespace stepsight
