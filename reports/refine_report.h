// What a machine's own measured steps say of its inputs.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "simulate/refine.h"

namespace stepsight {

struct RefineReport {
  std::string gpu;
  Refinement refinement;
  std::map<std::string, std::size_t> refused;  // reason -> rows
  std::vector<std::string> links;  // files of refined links that were written beside the profile
};

std::string refine_text(const RefineReport& report);
std::string refine_json(const RefineReport& report);

}  // namespace stepsight
