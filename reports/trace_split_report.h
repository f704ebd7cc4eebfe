// The split of a step by profiler traces, of one rank or of several.
#pragma once
#include <string>
#include <vector>

#include "model/trace_split.h"

namespace stepsight {

struct NamedSplit {
  std::string file;
  StepSplit split;
};

std::string splits_text(const std::vector<NamedSplit>& ranks);
std::string splits_json(const std::vector<NamedSplit>& ranks);

}  // namespace stepsight
