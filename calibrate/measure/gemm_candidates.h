// The kinds of products that training runs, each as a list to sample from. Sizes are those of
// published models where there are some, and spread evenly in logarithm elsewhere.
#pragma once
#include <vector>

#include "calibrate/measure/gemm_design.h"

namespace stepsight::calibrate {

using GemmShapes = std::vector<GemmShape>;

// Every linear layer of a transformer's block, whole and cut for 2, 4 and 8 tensor-parallel ranks.
GemmShapes transformer_shapes();

// Projections to a vocabulary that is a multiple of 8, and to one that is not.
GemmShapes head_shapes();
GemmShapes misaligned_head_shapes();

// Layers of which one or both widths are odd, or 2 or 4 modulo 8: rows that do not begin at
// multiples of 16 bytes force kernels with narrower loads. Which width lies along memory differs
// between forward, input gradient and weight gradient. A part has an odd number of tokens, which
// costs no alignment.
GemmShapes odd_shapes();
GemmShapes even_misaligned_shapes();

// Layers on 1 to 256 tokens: bound by their weights' bytes; the weight gradient is 1 to 256 deep.
GemmShapes few_token_shapes();

// Layers with 1 to 160 inputs or outputs on many tokens: first layers, classes, values, adapters.
GemmShapes narrow_layer_shapes();

// Powers of two show the ramp; multiples of 384, 640 and 1000 fall between the tiles and waves.
GemmShapes square_shapes();

// Long enough for the power limit to show.
GemmShapes huge_shapes();

// Anything goes: independent dimensions, spread evenly in logarithm, aligned to 64.
GemmShapes scattered_shapes();

}  // namespace stepsight::calibrate
