// What the machine's forms of plain and traced predictions share.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "simulate/predict.h"

namespace stepsight {

// "breakdown_s" and "attribution_s", of a step in pipeline stages or not.
void add_parts(nlohmann::ordered_json& out, const Prediction& prediction, bool staged);

}  // namespace stepsight
