// The three stretches of a model that step_work puts together, for the families that
// model/transformer.cpp does not write down itself.
#pragma once
#include <cstdint>

#include "model/transformer.h"

namespace stepsight {

// `block` runs `blocks` times between the other two. What differs from layer to layer (a
// convolution net's stages, an encoder before a decoder) stands in `embedding`, unrolled.
struct ModelStages {
  StageWork embedding;
  StageWork block;
  StageWork head;
  std::int64_t blocks = 0;
};

}  // namespace stepsight
