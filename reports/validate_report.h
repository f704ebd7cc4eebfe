// What `validate` found, for people and for machines.
#pragma once
#include <string>

#include "reports/words.h"
#include "simulate/validate.h"

namespace stepsight {

// `rows`: also one line a predicted row.
std::string validation_text(const Validation& validation, bool rows, const Words& words = Words());
std::string validation_json(const Validation& validation);

}  // namespace stepsight
