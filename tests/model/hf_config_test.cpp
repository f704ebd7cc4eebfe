#include "model/io/hf_config.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "model/io/model_file.h"
#include "model/io/read_file.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

// The keys that matter of the published files, in their layout.
const std::string gpt2 = R"({
  "activation_function": "gelu_new",
  "architectures": ["GPT2LMHeadModel"],
  "model_type": "gpt2",
  "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
  "resid_pdrop": 0.1,
  "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
  "vocab_size": 50257
})";
const std::string llama3_8b = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "bos_token_id": 128000,
  "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
  "max_position_embeddings": 8192, "model_type": "llama", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 8, "rope_scaling": null,
  "rope_theta": 500000.0, "tie_word_embeddings": false, "vocab_size": 128256
})";
const std::string qwen = R"({
  "hidden_size": 1536, "intermediate_size": 8960, "max_position_embeddings": 131072,
  "max_window_layers": 28, "model_type": "qwen2", "num_attention_heads": 12,
  "num_hidden_layers": 28, "num_key_value_heads": 2, "sliding_window": 4096,
  "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936
})";
const std::string bert = R"({
  "architectures": ["BertForMaskedLM"], "hidden_dropout_prob": 0.1, "hidden_size": 1024,
  "intermediate_size": 4096, "max_position_embeddings": 512, "model_type": "bert",
  "num_attention_heads": 16, "num_hidden_layers": 24, "type_vocab_size": 2, "vocab_size": 30522
})";

ModelShape read(const std::string& text) {
  return read_hf_config_text("m/config.json", text);
}

std::string message(const std::string& text) {
  return message_of([&] { read(text); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("published config.json files make the published numbers of parameters") {
  CHECK(parameter_count(read(gpt2)) == 124439808);
  CHECK(parameter_count(read(llama3_8b)) == 8030261248);
  CHECK(parameter_count(read(qwen)) == 1543714304);
  CHECK(parameter_count(read(bert)) == 335174458);
  CHECK(parameter_count(read(replaced(bert, "BertForMaskedLM", "BertModel"))) == 335141888);
}

TEST_CASE("a config.json equals the built-in model of the same size") {
  const ModelShape ours = read_model("llama3-8b");
  const ModelShape theirs = read(llama3_8b);
  CHECK(theirs.family == ours.family);
  CHECK(theirs.kv_heads == ours.kv_heads);
  CHECK(theirs.head_dim == 128);
  CHECK(theirs.max_seq == ours.max_seq);
  CHECK(theirs.tied_head == ours.tied_head);
  CHECK(theirs.gated_ffn == ours.gated_ffn);
  CHECK(theirs.positions == 0);
  CHECK(theirs.name == "m");
}

TEST_CASE("keys that are absent or null get the defaults of transformers") {
  const ModelShape shape = read(replaced(gpt2, "\"resid_pdrop\": 0.1", "\"n_inner\": null"));
  CHECK(shape.ffn == 4 * 768);
  CHECK(shape.dropout == 0.1);
  CHECK(shape.tied_head);
  CHECK(read(replaced(llama3_8b, "\"num_key_value_heads\": 8, ", "")).kv_heads == 32);
  CHECK_FALSE(read(replaced(qwen, "\"tie_word_embeddings\": true, ", "")).tied_head);
}

TEST_CASE("a head width of its own is taken from head_dim") {
  const std::string nemo = replaced(llama3_8b,
                                    "\"hidden_size\": 4096",
                                    "\"hidden_size\": 5120, "
                                    "\"head_dim\": 128");
  CHECK(read(nemo).head_dim == 128);
}

TEST_CASE("a sliding window bounds the sequence for mistral, and for qwen2 only when it is on") {
  const std::string mistral = replaced(replaced(llama3_8b, "\"llama\"", "\"mistral\""),
                                       "\"rope_scaling\": null",
                                       "\"sliding_window\": 4096");
  CHECK(read(mistral).max_seq == 4096);
  CHECK(read(qwen).max_seq == 131072);
  CHECK(read(replaced(qwen, "_window\": false", "_window\": true")).max_seq == 4096);
}

TEST_CASE("biases on one half of a block only are refused, on both they are counted") {
  const std::string half =
      replaced(llama3_8b, "\"attention_bias\": false", "\"attention_bias\": true");
  CHECK_THAT(message(half), match::ContainsSubstring("must be equal"));
  const std::string both = replaced(
      llama3_8b, "\"attention_bias\": false", "\"attention_bias\": true, \"mlp_bias\": true");
  // q and out 4096 each, k and v 1024 each, gate and up 14336 each, down 4096.
  CHECK(parameter_count(read(both)) == 8030261248 + 32 * (2 * 4096 + 2 * 1024 + 2 * 14336 + 4096));
}

TEST_CASE("Mixtral's and DeepSeek's config.json give the built-in models") {
  const ModelShape mixtral = read(R"({"model_type": "mixtral", "hidden_size": 4096,
    "intermediate_size": 14336, "max_position_embeddings": 32768, "num_attention_heads": 32,
    "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
    "num_local_experts": 8, "sliding_window": null, "tie_word_embeddings": false,
    "vocab_size": 32000})");
  CHECK(parameter_count(mixtral) == parameter_count(read_model("mixtral-8x7b")));
  CHECK(mixtral.max_seq == 32768);
  const std::string v3 = R"({"model_type": "deepseek_v3", "first_k_dense_replace": 3,
    "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
    "max_position_embeddings": 163840, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128,
    "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
    "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "vocab_size": 129280})";
  CHECK(parameter_count(read(v3)) == parameter_count(read_model("deepseek-v3")));
  CHECK_THAT(message(replaced(v3, "\"moe_layer_freq\": 1", "\"moe_layer_freq\": 2")),
             match::ContainsSubstring("moe_layer_freq must be 1"));
  CHECK_THAT(message(replaced(v3, "\"kv_lora_rank\": 512,", "")),
             match::ContainsSubstring("missing key 'kv_lora_rank'"));
}

TEST_CASE("an unknown model_type is answered with the known ones") {
  CHECK(message("{\n \"model_type\": \"lama\"\n}") ==
        "m/config.json:2:2: 'model_type' must be one of gpt2, llama, mistral, qwen2, mixtral, "
        "deepseek_v2, deepseek_v3, bert, t5, vit, resnet, transfo-xl, got \"lama\"; did you mean "
        "'llama'?");
  CHECK(message("{}") == "m/config.json:1:1: missing key 'model_type' in the file");
}

TEST_CASE("all missing and wrong keys of a config.json are told at once") {
  CHECK(message("{\"model_type\": \"gpt2\",\n\"n_embd\": -3,\n\"n_head\": \"12\"}") ==
        "m/config.json:1:1: missing key 'n_layer' in the file\n"
        "m/config.json:1:1: missing key 'n_positions' in the file\n"
        "m/config.json:1:1: missing key 'vocab_size' in the file\n"
        "m/config.json:2:1: 'n_embd' must be an integer from 1 to 1000000, got -3\n"
        "m/config.json:3:1: 'n_head' must be an integer from 1 to 100000, got \"12\"");
}

TEST_CASE("heads that do not divide are told at their key") {
  CHECK(message(replaced(gpt2, "\"n_head\": 12", "\"n_head\": 7")) ==
        "m/config.json:5:33: heads must divide hidden: 768 / 7 leaves 5");
}

TEST_CASE("hostile config.json files end in an error, not in memory or stack") {
  CHECK_THAT(message(std::string(2 * megabyte, ' ')), match::ContainsSubstring("larger than 1 MB"));
  CHECK_THAT(message("{\"model_type\": " + std::string(5000, '[')),
             match::ContainsSubstring("nested too deep"));
  CHECK_THAT(message("[]"), match::ContainsSubstring("expected a table"));
  CHECK_THAT(message_of([] { read_hf_config("/no/such/config.json"); }),
             match::ContainsSubstring("cannot be read"));
}

TEST_CASE("a config.json is read from its path by name") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("stepsight_hf_config_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "config.json").string();
  std::ofstream(path) << gpt2;
  const ModelShape shape = read_model(path);
  std::filesystem::remove_all(folder);
  CHECK(shape.name == folder.filename().string());
  CHECK(parameter_count(shape) == 124439808);
}
