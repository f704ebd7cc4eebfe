// What a model is: the numbers of its architecture, from a built-in file, a Hugging Face
// config.json or a table in the scenario. Plain data; the operators of a step come from
// model/transformer.h, the parameter tensors from parameter_tensors() below.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepsight {

enum class Family { gpt, llama, bert, resnet, vit, txl, t5 };
inline constexpr std::array<std::string_view, 7> family_names{
    "gpt", "llama", "bert", "resnet", "vit", "txl", "t5"};

// Families whose samples are images, not sequences of tokens.
constexpr bool takes_images(Family family) {
  return family == Family::resnet || family == Family::vit;
}

struct ModelShape {
  std::string name;
  Family family = Family::gpt;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // = heads without grouped-query attention
  std::int64_t head_dim = 0;  // hidden / heads unless the model says otherwise
  std::int64_t ffn = 0;       // width of the feed-forward layer
  std::int64_t vocab = 0;
  std::int64_t positions = 0;    // learned position embeddings; 0 with rotary or none
  std::int64_t token_types = 0;  // BERT's segment embedding; 0 elsewhere
  std::int64_t max_seq = 0;      // longest sequence the model takes; 0 = not stated
  bool tied_head = false;        // the LM head shares the embedding's tensor
  bool bias = false;             // biases on every linear layer of a block
  bool qkv_bias = false;         // biases on query, key and value only (Qwen2)
  bool gated_ffn = false;        // SwiGLU: gate and up projections (Llama)
  bool rms_norm = false;         // RMSNorm without bias instead of LayerNorm
  bool rotary = false;           // rotary position embedding on query and key
  bool fused_qkv = false;        // one projection for query, key, value (GPT-2); else three
  bool fused_gate_up = false;    // one projection for gate and up; else two
  bool mlm_head = false;         // BERT: dense + norm + tied decoder with bias
  double mlm_share = 1;          // share of the tokens that are gathered for it: 1 = all
  bool pooler = false;           // BERT: dense layer on the first token
  double dropout = 0;            // > 0: dropout passes run in training
  std::int64_t image = 0;        // resnet, vit: pixels a side of an image
  std::int64_t patch = 0;        // vit: pixels a side of a patch, which becomes a token

  // A mixture of experts (llama); experts = 0: none. ffn is then the dense layers' width.
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t shared_experts = 0;  // that every token visits
  std::int64_t expert_ffn = 0;      // width of one expert
  std::int64_t dense_layers = 0;    // first layers without experts
  double capacity_factor = 1;       // rows that each expert works through, over an even share

  // Latent attention (llama); kv_rank = 0: none. head_dim is then a head's width without rotary
  // columns.
  std::int64_t q_rank = 0;  // 0: queries in one step
  std::int64_t kv_rank = 0;
  std::int64_t rope_dim = 0;  // rotary columns of a head
  std::int64_t v_dim = 0;     // columns of a head's value

  // txl: tokens of earlier segments that attention sees, too, and ranks by frequency at which the
  // adaptive softmax changes from its head to the first, second and third cluster of words.
  std::int64_t memory = 0;
  std::int64_t cutoff_1 = 0;
  std::int64_t cutoff_2 = 0;
  std::int64_t cutoff_3 = 0;
  // txl: word vectors of each cluster are so many times narrower than those before it, and come to
  // the model's width through a projection; 1: all as wide as the model, no projections.
  std::int64_t div_val = 1;
  double attention_dropout = 0;  // txl: of the attention's weights; elsewhere `dropout` says it
};

// One parameter tensor, in the order in which the framework registers it (which is the order that
// DDP's first buckets reverse). `layer` is the block it belongs to, -1 before and layers after.
struct ParameterTensor {
  std::string_view role;  // "embedding", "qkv.weight", ... : stable names, for reports and tests
  std::int64_t layer = 0;
  std::int64_t elements = 0;
};

// Registration order as in the reference implementations (Hugging Face / nanoGPT). A tied head is
// one tensor: it appears once, as the embedding.
std::vector<ParameterTensor> parameter_tensors(const ModelShape& shape);

// Number of trainable parameters; a tied tensor counts once.
std::int64_t parameter_count(const ModelShape& shape);

// Families whose layers can be split over tensor- or context-parallel ranks here.
constexpr bool can_be_split(const ModelShape& shape) {
  const bool usual =
      shape.family == Family::gpt || shape.family == Family::llama || shape.family == Family::bert;
  return usual && shape.experts == 0 && shape.kv_rank == 0;
}
// Attention that sees earlier tokens only.
constexpr bool is_causal(Family family) {
  return family == Family::gpt || family == Family::llama || family == Family::txl;
}
// Scores are divided by the root of a head's width; T5's are not.
constexpr bool scales_scores(Family family) {
  return family != Family::t5;
}
// Tokens of an image: its patches and the class token. Precondition: patch > 0.
constexpr std::int64_t image_tokens(const ModelShape& shape) {
  return (shape.image / shape.patch) * (shape.image / shape.patch) + 1;
}

// The longest sequence the model takes: its learned positions, else max_seq; 0 = not stated. A
// convolution net's image counts as one token.
constexpr std::int64_t longest_sequence(const ModelShape& shape) {
  if (shape.family == Family::resnet) return 1;
  if (shape.family == Family::vit) return shape.patch > 0 ? image_tokens(shape) : 0;
  return shape.positions > 0 ? shape.positions : shape.max_seq;
}

// Everything that is wrong with the numbers, one sentence each, which begins with the field at
// fault
// ("heads must divide hidden: ..."). Empty when the model can be built; then parameter_count() is
// exact and within 1e15.
std::vector<std::string> problems(const ModelShape& shape);

}  // namespace stepsight
