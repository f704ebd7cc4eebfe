// A mixture of experts in place of a feed-forward layer: router, top-k, permutation, the experts'
// products as one batch, and their sum (Jiang et al. 2024, Mixtral of Experts; DeepSeek-AI 2024,
// DeepSeek-V2, for experts that every token visits).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/dtype.h"
#include "model/model_shape.h"
#include "model/stage_builder.h"

namespace stepsight {

// Rows that each expert works through: tokens x experts_per_token / experts x capacity_factor x
// `imbalance`, rounded up. `tokens`: of all ranks that send it some.
std::int64_t expert_rows(const ModelShape& shape, std::int64_t tokens, double imbalance = 1);

// Bytes that a rank with `tokens` tokens hands to the experts' ranks in one layer, its own included
// (dispatch), and gets back (combine): each token once for each of its experts, padded to the
// capacity. Backward moves the same again. All of it stays on the rank without expert parallelism;
// with it (expert - 1) / expert travel.
double expert_exchange_bytes(const ModelShape& shape, std::int64_t tokens, Dtype dtype);

// Elements of all layers' experts, the shared ones not among them.
double expert_parameters(const ModelShape& shape);

// The layer's work after its norm. Precondition: shape.experts > 0.
void expert_feed_forward(StageBuilder& b, const ModelShape& shape);

// Role and elements of the layer's tensors, the experts' matrices stacked.
std::vector<std::pair<std::string_view, std::int64_t>> expert_tensors(const ModelShape& shape);

// What is wrong with the keys of a mixture of experts; none of them may be set without experts.
std::vector<std::string> expert_problems(const ModelShape& shape);

}  // namespace stepsight
