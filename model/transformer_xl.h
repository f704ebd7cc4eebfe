// Transformer-XL (Dai et al. 2019, arXiv 1901.02860) as NVIDIA's DeepLearningExamples has it:
// attention with relative positions over the segment and a memory of earlier ones, a post-norm
// block with ReLU, and an adaptive softmax (Grave et al. 2017, arXiv 1609.04309) whose word vectors
// are the embedding's.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "model/model_shape.h"
#include "model/stage_builder.h"

namespace stepsight {

// `segment`: queries; keys are the memory and the segment.
void memory_block(StageBuilder& b, const ModelShape& shape);

// The biases of queries against content and against positions, which all layers share: complete
// when the first layer's backward is. Belongs right after the embedding.
void shared_position_biases(StageBuilder& b, const ModelShape& shape);

// Word vectors that narrow from cluster to cluster (div_val above 1): each group's tokens are
// picked out, looked up in its table and brought to the model's width by its projection.
void adaptive_embedding(StageBuilder& b, const ModelShape& shape);

// The softmax with its loss. Each token is looked up in the head (the words before cutoff_1, and
// the three clusters), those of a cluster also among its words.
void adaptive_softmax(StageBuilder& b, const ModelShape& shape);

// Share of the tokens whose word is in the head, and in each cluster, by Zipf's law: the word of
// rank r is met with a probability as 1 / r.
std::array<double, 4> word_shares(const ModelShape& shape);

// All tensors, in order of registration.
std::vector<ParameterTensor> transformer_xl_tensors(const ModelShape& shape);

// What is wrong with memory, cutoffs and div_val.
std::vector<std::string> transformer_xl_problems(const ModelShape& shape);

}  // namespace stepsight
