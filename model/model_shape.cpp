#include "model/model_shape.h"

#include <string>
#include <utility>

#include "model/convnet.h"
#include "model/latent_attention.h"
#include "model/moe.h"
#include "model/t5.h"
#include "model/transformer_xl.h"
#include "model/vit.h"

namespace stepsight {
namespace {

// Appends tensors in registration order. `layer` is the block they belong to.
struct TensorList {
  std::vector<ParameterTensor> tensors;
  std::int64_t layer = -1;

  void add(std::string_view role, std::int64_t elements) {
    tensors.push_back({role, layer, elements});
  }
  void linear(std::string_view weight,
              std::string_view bias,
              std::int64_t in,
              std::int64_t out,
              bool with_bias) {
    add(weight, in * out);
    if (with_bias) add(bias, out);
  }
};

// RMSNorm has a weight only; so has the LayerNorm of models built without biases.
bool norm_has_bias(const ModelShape& s) {
  return s.bias && !s.rms_norm;
}

void add_norm(TensorList& list,
              const ModelShape& s,
              std::string_view weight,
              std::string_view bias) {
  list.add(weight, s.hidden);
  if (norm_has_bias(s)) list.add(bias, s.hidden);
}

void add_attention(TensorList& list, const ModelShape& s) {
  const std::int64_t q = s.heads * s.head_dim;
  const std::int64_t kv = s.kv_heads * s.head_dim;
  const bool qkv_bias = s.bias || s.qkv_bias;
  if (s.fused_qkv) {
    list.linear("qkv.weight", "qkv.bias", s.hidden, q + 2 * kv, qkv_bias);
  } else {
    list.linear("q.weight", "q.bias", s.hidden, q, qkv_bias);
    list.linear("k.weight", "k.bias", s.hidden, kv, qkv_bias);
    list.linear("v.weight", "v.bias", s.hidden, kv, qkv_bias);
  }
  list.linear("attention_out.weight", "attention_out.bias", q, s.hidden, s.bias);
}

void add_ffn(TensorList& list, const ModelShape& s) {
  if (s.gated_ffn && s.fused_gate_up) {
    list.linear("gate_up.weight", "gate_up.bias", s.hidden, 2 * s.ffn, s.bias);
  } else {
    if (s.gated_ffn) list.linear("gate.weight", "gate.bias", s.hidden, s.ffn, s.bias);
    list.linear("up.weight", "up.bias", s.hidden, s.ffn, s.bias);
  }
  list.linear("down.weight", "down.bias", s.ffn, s.hidden, s.bias);
}

// GPT-2 registers each norm before what it feeds, Llama both norms after the block's matrices,
// BERT (post-norm) each norm after what it closes.
void add_block(TensorList& list, const ModelShape& s) {
  switch (s.family) {
    case Family::gpt:
    case Family::vit:
      add_norm(list, s, "norm1.weight", "norm1.bias");
      add_attention(list, s);
      add_norm(list, s, "norm2.weight", "norm2.bias");
      add_ffn(list, s);
      return;
    case Family::llama:
      if (s.kv_rank > 0) {
        for (const auto& [role, elements] : latent_attention_tensors(s)) list.add(role, elements);
      } else {
        add_attention(list, s);
      }
      if (s.experts > 0 && list.layer >= s.dense_layers) {
        for (const auto& [role, elements] : expert_tensors(s)) list.add(role, elements);
      } else {
        add_ffn(list, s);
      }
      add_norm(list, s, "norm1.weight", "norm1.bias");
      add_norm(list, s, "norm2.weight", "norm2.bias");
      return;
    case Family::bert:
      add_attention(list, s);
      add_norm(list, s, "norm1.weight", "norm1.bias");
      add_ffn(list, s);
      add_norm(list, s, "norm2.weight", "norm2.bias");
      return;
    case Family::resnet:
    case Family::txl:
    case Family::t5:
      return;  // written down in files of their own
  }
}

void add_embeddings(TensorList& list, const ModelShape& s) {
  list.add("embedding", s.vocab * s.hidden);
  if (s.positions > 0) list.add("positions", s.positions * s.hidden);
  if (s.token_types > 0) list.add("token_types", s.token_types * s.hidden);
  if (s.family == Family::bert) {
    add_norm(list, s, "embedding_norm.weight", "embedding_norm.bias");
  }
}

// BertLMPredictionHead owns its output bias, and a module's own parameters come before those of
// its sub-modules; the decoder's weight is the embedding unless untied.
void add_bert_head(TensorList& list, const ModelShape& s) {
  if (s.pooler) list.linear("pooler.weight", "pooler.bias", s.hidden, s.hidden, s.bias);
  if (!s.mlm_head) return;
  list.add("mlm.bias", s.vocab);
  list.linear("mlm_dense.weight", "mlm_dense.bias", s.hidden, s.hidden, s.bias);
  add_norm(list, s, "mlm_norm.weight", "mlm_norm.bias");
  if (!s.tied_head) list.add("head.weight", s.vocab * s.hidden);
}

void require_positive(std::vector<std::string>& found, std::string_view what, std::int64_t value) {
  if (value < 1) {
    found.push_back(std::string(what) + " must be at least 1, got " + std::to_string(value));
  }
}

void require_not_negative(std::vector<std::string>& found,
                          std::string_view what,
                          std::int64_t value) {
  if (value < 0) {
    found.push_back(std::string(what) + " must not be negative, got " + std::to_string(value));
  }
}

void head_problems(std::vector<std::string>& found, const ModelShape& s) {
  if (s.heads < 1 || s.hidden < 1) return;
  if (s.head_dim < 1 && s.hidden % s.heads != 0) {
    found.emplace_back("heads must divide hidden: " + std::to_string(s.hidden) + " / " +
                       std::to_string(s.heads) + " leaves " + std::to_string(s.hidden % s.heads));
  } else if (s.head_dim < 1) {
    found.push_back("head_dim must be at least 1, got " + std::to_string(s.head_dim));
  }
  if (s.kv_heads >= 1 && s.heads % s.kv_heads != 0) {
    found.push_back("kv_heads must divide heads: " + std::to_string(s.heads) + " / " +
                    std::to_string(s.kv_heads) + " leaves " + std::to_string(s.heads % s.kv_heads));
  }
}

}  // namespace

std::vector<ParameterTensor> parameter_tensors(const ModelShape& shape) {
  if (shape.family == Family::resnet) return convnet_tensors(shape);
  if (shape.family == Family::txl) return transformer_xl_tensors(shape);
  if (shape.family == Family::t5) return t5_tensors(shape);
  TensorList list;
  list.tensors.reserve(static_cast<std::size_t>(16 * shape.layers + 16));
  if (shape.family == Family::vit) {
    list.tensors = patch_tensors(shape);
  } else {
    add_embeddings(list, shape);
  }
  for (list.layer = 0; list.layer < shape.layers; ++list.layer) add_block(list, shape);
  if (shape.family == Family::bert) {
    add_bert_head(list, shape);
  } else {
    add_norm(list, shape, "final_norm.weight", "final_norm.bias");
    if (!shape.tied_head) list.add("head.weight", shape.vocab * shape.hidden);
    if (shape.family == Family::vit) list.add("head.bias", shape.vocab);
  }
  return std::move(list.tensors);
}

std::int64_t parameter_count(const ModelShape& shape) {
  std::int64_t total = 0;
  for (const ParameterTensor& tensor : parameter_tensors(shape)) total += tensor.elements;
  return total;
}

std::vector<std::string> problems(const ModelShape& shape) {
  if (shape.family == Family::resnet) return convnet_problems(shape);
  std::vector<std::string> found;
  require_positive(found, "layers", shape.layers);
  require_positive(found, "hidden", shape.hidden);
  require_positive(found, "heads", shape.heads);
  require_positive(found, "kv_heads", shape.kv_heads);
  require_positive(found, "ffn", shape.ffn);
  require_positive(found, "vocab", shape.vocab);
  head_problems(found, shape);
  require_not_negative(found, "positions", shape.positions);
  require_not_negative(found, "token_types", shape.token_types);
  require_not_negative(found, "max_seq", shape.max_seq);
  const auto take = [&](std::vector<std::string> more) {
    for (std::string& sentence : more) found.push_back(std::move(sentence));
  };
  if (shape.family == Family::vit) {
    take(patch_problems(shape));
    if (shape.tied_head || shape.rms_norm || shape.gated_ffn) {
      found.emplace_back("family vit has LayerNorm, GELU and a head of its own");
    }
  }
  if (shape.family == Family::txl) take(transformer_xl_problems(shape));
  if (shape.family == Family::t5) take(t5_problems(shape));
  take(expert_problems(shape));
  take(latent_attention_problems(shape));
  if (shape.family != Family::bert && shape.mlm_head) {
    found.emplace_back("mlm_head belongs to family bert only");
  }
  if (shape.family != Family::bert && shape.pooler) {
    found.emplace_back("pooler belongs to family bert only");
  }
  if (!(shape.dropout >= 0 && shape.dropout < 1)) {
    found.emplace_back("dropout must be at least 0 and below 1");
  }
  // Counts stay exact and far from overflow: 1e15 parameters are a thousand times the largest
  // model.
  const double block =
      (shape.family == Family::t5 ? 12.0 : 4.0) * static_cast<double>(shape.hidden) *
          static_cast<double>(shape.heads) * static_cast<double>(shape.head_dim) +
      (shape.family == Family::t5 ? 6.0 : 3.0) * static_cast<double>(shape.hidden) *
          static_cast<double>(shape.ffn) +
      3.0 * static_cast<double>(shape.hidden) * static_cast<double>(shape.expert_ffn) *
          static_cast<double>(shape.experts + shape.shared_experts);
  const double rest = static_cast<double>(shape.hidden) * (2.0 * static_cast<double>(shape.vocab) +
                                                           static_cast<double>(shape.positions));
  if (block * static_cast<double>(shape.layers) + rest > 1e15 || shape.layers > 100000) {
    found.emplace_back(
        "layers, hidden and vocab make a model of over 1e15 parameters or 100000 layers");
  }
  return found;
}

}  // namespace stepsight
