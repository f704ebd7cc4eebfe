// Multi-head latent attention (DeepSeek-AI 2024, DeepSeek-V2, section 2.1): queries, and keys with
// values, come through narrow layers of q_rank and kv_rank; each head's query and key have head_dim
// columns without a rotary embedding and rope_dim with one, which all heads' keys share.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/model_shape.h"
#include "model/stage_builder.h"

namespace stepsight {

// From the norm before it to the output layer. Precondition: shape.kv_rank > 0. In training keys
// and values are written out for all heads. Always fused attention; its kernel is costed with a
// head width of (query's + value's) / 2, which has the same FLOP forward.
void latent_attention(StageBuilder& b, const ModelShape& shape);

std::vector<std::pair<std::string_view, std::int64_t>> latent_attention_tensors(
    const ModelShape& shape);

std::vector<std::string> latent_attention_problems(const ModelShape& shape);

}  // namespace stepsight
