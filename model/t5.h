// T5 (Raffel et al. 2020, Exploring the Limits of Transfer Learning, arXiv 1910.10683): an encoder,
// and a decoder whose layers also attend to what the encoder made of the input. Pre-norm blocks
// with RMSNorm, without biases; positions as a learned bias of the scores by distance, one table a
// stack; scores are not scaled. ReLU, or a gate (v1.1). The kernels are those of transformers' T5:
// attention is unfused there.
#pragma once
#include <string>
#include <vector>

#include "model/model_shape.h"
#include "model/model_stages.h"
#include "model/scenario.h"

namespace stepsight {

// Distances that a stack's bias tells apart (relative_attention_num_buckets).
inline constexpr std::int64_t relative_buckets = 32;

// A block is an encoder's layer and a decoder's: what the two compute, keep and exchange adds up,
// but the decoder's gradients come before the encoder's in truth. training.seq are an input's
// tokens, training.target_seq a target's. Tensors in the order of gradients; the tied head is one
// with both embeddings.
ModelStages t5_stages(const ModelShape& shape, const Training& training, const Parallel& parallel);

// `layers` counts those of each stack.
std::vector<ParameterTensor> t5_tensors(const ModelShape& shape);
std::vector<std::string> t5_problems(const ModelShape& shape);

}  // namespace stepsight
