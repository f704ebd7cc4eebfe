// Predicted against measured as a document: the error of each group, and every run as a point.
#pragma once
#include <string>

#include "reports/document.h"
#include "reports/words.h"
#include "simulate/validate.h"

namespace stepsight {

// `file` is what the runs were read from.
Document validation_page(const Validation& validation, const std::string& file, const Words& words);

}  // namespace stepsight
