// `nvidia-smi dmon` (with -o DT and -s of any letters) and `nvidia-smi --query-gpu=...
// --format=csv`.
#pragma once
#include <string>
#include <string_view>

#include "model/utilisation.h"

namespace stepsight {

// Streams the file; of each GPU the first 50,000 samples are kept. UserError when it cannot be
// read, or when it has no header with a column for utilisation ("sm", "utilization.gpu [%]") or no
// sample.
UtilisationSamples read_utilisation(const std::string& path);
UtilisationSamples read_utilisation_text(const std::string& file, std::string_view text);

}  // namespace stepsight
