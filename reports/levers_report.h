// What would help, for people and machines.
#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "reports/words.h"
#include "simulate/levers.h"

namespace stepsight {

// Empty without levers.
std::string levers_text(const std::vector<Lever>& levers, const Words& words);
nlohmann::ordered_json levers_json(const std::vector<Lever>& levers);

}  // namespace stepsight
