// What the machine's forms of several reports share.
#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "simulate/predict.h"

namespace stepsight {

// JSON as text, one blank a level, without a line feed at its end; `indent` -1: on one line. Names
// and ids from people's files may be no UTF-8: what is not becomes U+FFFD. No report dumps in
// another way.
std::string json_text(const nlohmann::ordered_json& json, int indent = 1);

// "breakdown_s" and "attribution_s", of a step in pipeline stages or not.
void add_parts(nlohmann::ordered_json& out, const Prediction& prediction, bool staged);

}  // namespace stepsight
