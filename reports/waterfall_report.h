// How the steps of two points differ, cause by cause: from one card to N, from one link to another.
#pragma once
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "reports/words.h"
#include "simulate/waterfall.h"

namespace stepsight {

struct StepsBetween {
  std::string from_name, to_name;  // "gpus = 1"
  Waterfall from, to;
};

// "gpus = 1": a point's values on the axes where it differs from the other one.
std::string point_name(std::span<const std::string> axes,
                       std::span<const std::string> values,
                       std::span<const std::string> others);

// A line a cause that either step has, its time in both and what it adds or takes away; the last
// line is the step. Empty for a default one.
std::string between_text(const StepsBetween& between, const Words& words);
// {"from", "to", "causes": [{"cause", "from_ps", "to_ps", "more_ps", "less_ps"}], "from_step_ps",
// "to_step_ps"}: to_step_ps = from_step_ps + the sum of more_ps - the sum of less_ps, and a step is
// the sum of its causes, to the picosecond; nothing is below 0.
nlohmann::ordered_json between_json(const StepsBetween& between);
// cause,from_ps,to_ps,more_ps,less_ps: a row a cause, the last one "step".
std::string between_csv(const StepsBetween& between);

}  // namespace stepsight
