// The answer in a sentence or two, in the reader's language.
#pragma once
#include <string>

#include "reports/words.h"
#include "simulate/study.h"

namespace stepsight {

// How much faster it gets, how long a step takes, and what holds it up.
std::string verdict(const StudyPoint& point, const Words& words);

// What sets the pace, with what would help.
std::string pace_sentence(const Prediction& prediction, const Words& words);

// "batches up to 64 fit", without a full stop.
std::string batches_sentence(const Memory& memory, const Words& words);

// Whether it fits, and the largest batch that does.
std::string memory_sentence(const Memory& memory, double card_bytes, const Words& words);

}  // namespace stepsight
