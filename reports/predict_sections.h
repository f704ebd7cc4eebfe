// The paragraphs of a prediction below its table, each about one point and ready to print.
#pragma once
#include <string>

#include "model/profile.h"
#include "reports/words.h"
#include "simulate/study.h"

namespace stepsight {

// Why N cards are not N times one: the step cut into causes that add up to it. Empty for one GPU
// that talks to nobody.
std::string why_not_linear(const StudyPoint& point, const Words& words);

// Kernel time by kind of work.
std::string where_time_goes(const StudyPoint& point, const Words& words);

// What sets the pace, the memory with its parts, what to mistrust and what to try.
std::string verdicts(const StudyPoint& point, const GpuProfile& gpu, const Words& words);

}  // namespace stepsight
