#pragma once
#include <string>
#include <vector>

namespace stepsight {

// Learns the model's own error from tables of runs, prints how right its intervals are on runs that
// did not teach them, and writes it (model/io/model_error_file.h) where `output` is not empty.
void fit_model_error(const std::vector<std::string>& files, const std::string& output);

}  // namespace stepsight
