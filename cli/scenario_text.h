// A question as a text to copy, whichever way it was asked.
#pragma once
#include <string>

#include "cli/scenario_flags.h"

namespace stepsight {

// The scenario file as it stands, or, asked by flags alone, the file that asks the same.
std::string scenario_text_of(const ScenarioFlags& flags);

// The command line that asks the same of a scenario file; empty where flags alone were given.
std::string command_of(const ScenarioFlags& flags);

}  // namespace stepsight
