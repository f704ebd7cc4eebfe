// The mixture of experts that a measured row names.
#pragma once
#include <optional>

#include "model/io/runs_csv.h"
#include "model/model_shape.h"

namespace stepsight {

// Rows do not say the widths of latent attention or of one expert: those are a known model's, whose
// name begins the row's ("deepseekv2 cut to 4 layers"), as long as everything that the row does say
// agrees. Layers, and how many of them come first without experts, are the row's. Nothing where no
// built-in model agrees.
std::optional<ModelShape> mixture_of(const MeasuredRun& run);

}  // namespace stepsight
