#include "model/io/hf_config.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "model/io/hf_families.h"
#include "model/io/model_file.h"
#include "model/io/read_file.h"

namespace stepsight {
namespace {

// How one model_type spells the fields of ModelShape. An empty name: the type has no such key.
struct HfType {
  std::string_view model_type;
  Family family;
  std::string_view layers, hidden, heads, kv_heads, ffn, vocab, length, dropout;
  bool qkv_bias;
  void (*read)(Table&,
               ModelShape&) = nullptr;  // instead, where the type shares none of these words
};

constexpr HfType of_its_own(std::string_view model_type,
                            Family family,
                            void (*read)(Table&, ModelShape&)) {
  return {model_type, family, "", "", "", "", "", "", "", "", false, read};
}

// Most decoders since Llama use its words.
constexpr HfType llama_like(std::string_view model_type, bool qkv_bias = false) {
  return {model_type,
          Family::llama,
          "num_hidden_layers",
          "hidden_size",
          "num_attention_heads",
          "num_key_value_heads",
          "intermediate_size",
          "vocab_size",
          "max_position_embeddings",
          "",
          qkv_bias};
}

constexpr std::array<HfType, 12> types{{
    {"gpt2",
     Family::gpt,
     "n_layer",
     "n_embd",
     "n_head",
     "",
     "n_inner",
     "vocab_size",
     "n_positions",
     "resid_pdrop",
     false},
    llama_like("llama"),
    llama_like("mistral"),
    llama_like("qwen2", true),
    llama_like("mixtral"),
    llama_like("deepseek_v2"),
    llama_like("deepseek_v3"),
    {"bert",
     Family::bert,
     "num_hidden_layers",
     "hidden_size",
     "num_attention_heads",
     "",
     "intermediate_size",
     "vocab_size",
     "max_position_embeddings",
     "hidden_dropout_prob",
     false},
    of_its_own("t5", Family::t5, read_t5),
    of_its_own("vit", Family::vit, read_vit),
    of_its_own("resnet", Family::resnet, read_resnet),
    of_its_own("transfo-xl", Family::txl, read_transformer_xl),
}};

constexpr auto type_names = [] {
  std::array<std::string_view, types.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = types[i].model_type;
  return names;
}();

// Names of ModelShape's fields as problems() uses them, in the words of the file.
std::string_view key_of(const HfType& type, std::string_view field) {
  if (type.read != nullptr) return field;
  if (field == "layers") return type.layers;
  if (field == "hidden") return type.hidden;
  if (field == "heads") return type.heads;
  if (field == "kv_heads") return type.kv_heads;
  if (field == "ffn") return type.ffn;
  if (field == "vocab") return type.vocab;
  return field;
}

void read_sizes(Table& table, const HfType& type, ModelShape& shape) {
  shape.layers = table.require_int(type.layers, 1, 10000);
  shape.hidden = table.require_int(type.hidden, 1, 1000000);
  shape.heads = table.require_int(type.heads, 1, 100000);
  shape.vocab = table.require_int(type.vocab, 1, 100000000);
  shape.kv_heads = shape.heads;
  if (!type.kv_heads.empty()) {
    shape.kv_heads = table.optional_int(type.kv_heads, 1, 100000).value_or(shape.heads);
  }
  const std::int64_t even = shape.hidden % shape.heads == 0 ? shape.hidden / shape.heads : 0;
  shape.head_dim = table.optional_int("head_dim", 1, 100000).value_or(even);
  // transformers has a default of its own for GPT-2 only: n_inner = null means 4 n_embd.
  shape.ffn = type.family == Family::gpt
                  ? table.optional_int(type.ffn, 1, 10000000).value_or(4 * shape.hidden)
                  : table.require_int(type.ffn, 1, 10000000);
  shape.max_seq = table.require_int(type.length, 1, 1000000000);
  if (type.family != Family::llama) shape.positions = shape.max_seq;
  if (!type.dropout.empty()) {
    shape.dropout = table.optional_number(type.dropout, 0, 0.99).value_or(0.1);
  }
}

void read_llama(Table& table, const HfType& type, ModelShape& shape) {
  shape.qkv_bias = type.qkv_bias;
  const bool attention_bias = table.optional_bool("attention_bias").value_or(false);
  const bool mlp_bias = table.optional_bool("mlp_bias").value_or(false);
  if (type.model_type == "llama") {
    shape.bias = attention_bias && mlp_bias;
    if (attention_bias != mlp_bias) {
      table.mistake(attention_bias ? "attention_bias" : "mlp_bias",
                    "attention_bias and mlp_bias must be equal: biases on one of the two only are "
                    "not modelled");
    }
  }
  const auto window = table.optional_int("sliding_window", 1);
  // Qwen2 files name a window that is off unless use_sliding_window says otherwise.
  const bool windowed =
      table.optional_bool("use_sliding_window").value_or(type.model_type == "mistral");
  if (window && windowed) shape.max_seq = std::min(shape.max_seq, *window);
}

// Mixtral: every layer has experts, as wide as a dense layer would be.
void read_mixtral(Table& table, ModelShape& shape) {
  shape.experts = table.require_int("num_local_experts", 1, 100000);
  shape.experts_per_token = table.require_int("num_experts_per_tok", 1, 100000);
  shape.expert_ffn = shape.ffn;
}

void read_deepseek(Table& table, ModelShape& shape) {
  shape.q_rank = table.optional_int("q_lora_rank", 1, 1000000).value_or(0);
  shape.kv_rank = table.require_int("kv_lora_rank", 1, 1000000);
  shape.head_dim = table.require_int("qk_nope_head_dim", 1, 100000);
  shape.rope_dim = table.require_int("qk_rope_head_dim", 1, 100000);
  shape.v_dim = table.require_int("v_head_dim", 1, 100000);
  shape.experts = table.require_int("n_routed_experts", 1, 100000);
  shape.experts_per_token = table.require_int("num_experts_per_tok", 1, 100000);
  shape.shared_experts = table.optional_int("n_shared_experts", 0, 100000).value_or(0);
  shape.expert_ffn = table.require_int("moe_intermediate_size", 1, 10000000);
  shape.dense_layers = table.optional_int("first_k_dense_replace", 0, 10000).value_or(0);
  const std::int64_t every = table.optional_int("moe_layer_freq", 1, 10000).value_or(1);
  if (every != 1) {
    table.mistake("moe_layer_freq",
                  "moe_layer_freq must be 1: experts in every layer after the first");
  }
}

// The task classes of transformers say which head stands on the encoder; the first one counts.
void read_bert_head(Table& table, ModelShape& shape) {
  const std::vector<std::string> classes = table.strings("architectures");
  const std::string head = classes.empty() ? "BertModel" : classes.front();
  shape.mlm_head = head == "BertForMaskedLM" || head == "BertForPreTraining";
  shape.pooler = head != "BertForMaskedLM";
  shape.token_types = table.optional_int("type_vocab_size", 0, 1000000).value_or(2);
}

// Downloaded models lie in a folder of their name.
std::string parent_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().filename().string();
  return folder.empty() || folder.starts_with('.') ? "config" : folder;
}

}  // namespace

ModelShape read_hf_config_text(const std::string& file, std::string_view text) {
  check_size(file, text, megabyte, "a config.json");
  const Value root = parse_json(file, text);
  ErrorList errors(file);
  Table table(root, errors);
  errors.throw_if_any();
  const std::size_t index = table.require_choice("model_type", type_names);
  errors.throw_if_any();

  const HfType& type = types[index];
  ModelShape shape = family_defaults(type.family);
  shape.name = table.optional_string("_name_or_path").value_or(parent_folder(file));
  if (type.read != nullptr) {
    type.read(table, shape);
  } else {
    read_sizes(table, type, shape);
    shape.tied_head =
        table.optional_bool("tie_word_embeddings").value_or(type.family != Family::llama);
  }
  if (type.family == Family::llama) read_llama(table, type, shape);
  if (type.family == Family::bert) read_bert_head(table, shape);
  if (type.model_type == "mixtral") read_mixtral(table, shape);
  if (type.model_type.starts_with("deepseek")) read_deepseek(table, shape);
  errors.throw_if_any();
  for (const std::string& problem : problems(shape)) {
    table.mistake(key_of(type, problem.substr(0, problem.find_first_of(" ,"))), problem);
  }
  errors.throw_if_any();
  return shape;
}

ModelShape read_hf_config(const std::string& path) {
  return read_hf_config_text(path, read_file(path, megabyte, "a config.json"));
}

}  // namespace stepsight
