// T5 against its published sizes and counts by hand.
#include "model/t5.h"

#include <algorithm>

#include "model/errors.h"
#include "model/io/hf_config.h"
#include "model/io/model_file.h"
#include "model/scenario_rules.h"
#include "model/transformer.h"
#include "tests/catch2.h"
#include "tests/model/product_of.h"

using namespace stepsight;

namespace {

Training tokens(std::int64_t batch, std::int64_t seq, std::int64_t target) {
  Training t;
  t.batch = batch;
  t.seq = seq;
  t.target_seq = target;
  return t;
}

}  // namespace

TEST_CASE("T5 has the published numbers of parameters") {
  // transformers' num_parameters() of google-t5/t5-base, -large, -3b and -11b; 222.9 M and so on.
  CHECK(parameter_count(read_model("t5-base")) == 222903552);
  CHECK(parameter_count(read_model("t5-large")) == 737668096);
  CHECK(parameter_count(read_model("t5-3b")) == 2851598336);
  CHECK(parameter_count(read_model("t5-11b")) == 11307321344);
}

TEST_CASE(
    "an encoder-decoder's FLOP are those of its matrices on their own sequences, and attention's") {
  const ModelShape s = read_model("t5-base");
  const double b = 4;
  const double in = 512;
  const double out = 128;
  const double h = 768;
  const double inner = 768;
  // Forward, 2 a multiply-add; keys and values of the cross attention on the input's tokens.
  const double encoder = 4 * h * inner + 2 * h * 3072;
  const double decoder = 4 * h * inner + 2 * h * inner + 2 * h * 3072;
  const double cross = 2 * h * inner;
  const double matrices =
      12 * (b * in * (encoder + cross) + b * out * decoder) + b * out * h * 32128;
  // The decoder's own scores are masked: fused attention does half of them.
  const double scores = 12 * 2 * inner * b * (in * in + out * out / 2 + in * out);
  const StepWork work = step_work(s, tokens(4, 512, 128));
  CHECK(work.model_flops.value == Approx(3 * 2 * (matrices + scores)).epsilon(1e-9));
}

TEST_CASE("targets without a length of their own are as long as inputs") {
  const ModelShape s = read_model("t5-base");
  const StageWork same = step_work(s, tokens(2, 256, 0)).block;
  CHECK(product(same, "cross query").m == 2 * 256);
  const StageWork shorter = step_work(s, tokens(2, 256, 64)).block;
  CHECK(product(shorter, "cross query").m == 2 * 64);
  CHECK(product(shorter, "cross key").m == 2 * 256);
  CHECK(product(shorter, "cross key").n == 768);
}

TEST_CASE("unfused, a decoder scores its tokens against the encoder's") {
  Training t = tokens(2, 256, 64);
  t.flash_attention = false;
  const StageWork block = step_work(read_model("t5-base"), t).block;
  const auto cross = std::ranges::count_if(block.forward, [](const Operator& op) {
    const auto* g = std::get_if<Gemm>(&op.work);
    return g != nullptr && op.label == "attention scores" && g->m == 64 && g->n == 256 &&
           g->batch == 24;
  });
  CHECK(cross == 1);
  CHECK(std::ranges::count(block.forward, std::string_view("attention scale"), &Operator::label) ==
        0);
}

TEST_CASE("gradients come in the order of backward, the decoder's layer before the encoder's") {
  const StepWork work = step_work(read_model("t5-base"), tokens(2, 256, 64));
  for (const StageWork* stage : {&work.embedding, &work.block, &work.head}) {
    CHECK(std::ranges::is_sorted(stage->ready, {}, &GradientReady::after));
    REQUIRE_FALSE(stage->ready.empty());
    CHECK(stage->ready.back().after < stage->backward.size());
  }
  double sum = gradient_elements(work.embedding) + 12 * gradient_elements(work.block) +
               gradient_elements(work.head);
  CHECK(sum == 222903552);
}

TEST_CASE("what T5 does not have, and what is not split, is named") {
  ModelShape s = read_model("t5-base");
  s.kv_heads = 4;
  REQUIRE(problems(s).size() == 1);
  CHECK(problems(s).front() == "kv_heads must equal heads in family t5");
  Scenario asked;
  asked.model = read_model("t5-base");
  asked.training.seq = 512;
  asked.cluster.gpu = "toy";
  asked.cluster.link = "wire";
  asked.cluster.gpus = 4;
  CHECK(violations(asked).empty());
  asked.parallel.pipeline = 4;
  asked.training.accumulation = 4;
  REQUIRE(violations(asked).size() == 1);
  CHECK(
      violations(asked).front().message ==
      "pipeline must be 1 for models of family t5: their decoder needs the whole encoder's result");
  asked.parallel.pipeline = 1;
  asked.parallel.tensor = 2;
  CHECK(violations(asked).size() == 1);
  asked.parallel.tensor = 1;
  asked.model = read_model("gpt2-124m");
  asked.training.target_seq = 64;
  CHECK(violations(asked).size() == 1);
}

TEST_CASE("published config.json files of other families make the built-in models") {
  const auto read = [](const char* text) { return read_hf_config_text("m/config.json", text); };
  const ModelShape t5 = read(R"({"model_type": "t5", "d_model": 1024, "d_kv": 128, "d_ff": 16384,
    "num_layers": 24, "num_heads": 32, "vocab_size": 32128, "dropout_rate": 0.1, "n_positions": 512,
    "relative_attention_num_buckets": 32, "feed_forward_proj": "relu"})");
  CHECK(parameter_count(t5) == parameter_count(read_model("t5-3b")));
  // Version 1.1 of the base model: a gate, and a head of its own; 247,577,856 parameters.
  const ModelShape v11 = read(R"({"model_type": "t5", "d_model": 768, "d_kv": 64, "d_ff": 2048,
    "num_layers": 12, "num_decoder_layers": 12, "num_heads": 12, "vocab_size": 32128,
    "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false})");
  CHECK(parameter_count(v11) == 247577856);
  // google/vit-base-patch16-224: a thousand classes.
  std::string labels = "{";
  for (int i = 0; i < 1000; ++i)
    labels += (i > 0 ? ", \"" : "\"") + std::to_string(i) + "\": \"x\"";
  const std::string vit = R"({"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "image_size": 224, "patch_size": 16,
    "id2label": )" + labels +
                          "}}";
  CHECK(parameter_count(read(vit.c_str())) == 86567656);
  // microsoft/resnet-50.
  const std::string net = R"({"model_type": "resnet", "depths": [3, 4, 6, 3], "embedding_size": 64,
    "hidden_sizes": [256, 512, 1024, 2048], "layer_type": "bottleneck", "num_channels": 3,
    "id2label": )" + labels +
                          "}}";
  CHECK(parameter_count(read(net.c_str())) == parameter_count(read_model("resnet50")));
  const ModelShape txl = read(R"({"model_type": "transfo-xl", "d_model": 512, "d_embed": 512,
    "n_layer": 16, "n_head": 8, "d_head": 64, "d_inner": 2048, "mem_len": 192, "div_val": 1,
    "vocab_size": 267735, "cutoffs": [19997, 39997, 199997], "dropout": 0.1})");
  CHECK(parameter_count(txl) == parameter_count(read_model("txl-base")));
  const ModelShape narrow = read(R"({"model_type": "transfo-xl", "d_model": 1024, "d_embed": 1024,
    "n_layer": 18, "n_head": 16, "d_head": 64, "d_inner": 4096, "mem_len": 384, "div_val": 4,
    "vocab_size": 267735, "cutoffs": [19997, 39997, 199997], "dropout": 0.2, "dropatt": 0.2})");
  CHECK(parameter_count(narrow) == parameter_count(read_model("txl-large")));
  CHECK(narrow.attention_dropout == 0.2);
}

TEST_CASE("a config.json that cannot be modelled is refused at the key at fault") {
  const auto message = [](const char* text) {
    try {
      read_hf_config_text("m/config.json", text);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(
      message(R"({"model_type": "t5", "d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12,
                         "num_decoder_layers": 6, "num_heads": 12, "vocab_size": 32128})"),
      match::ContainsSubstring("num_decoder_layers must be 12"));
  CHECK_THAT(message(R"({"model_type": "resnet", "depths": [3, 4, 6, 4],
                         "hidden_sizes": [256, 512, 1024, 2048]})"),
             match::ContainsSubstring("must be those of resnet 18, 34, 50, 101 or 152"));
  CHECK_THAT(message(R"({"model_type": "transfo-xl", "d_model": 1024, "n_layer": 18, "n_head": 16,
                         "d_head": 64, "d_inner": 4096, "mem_len": 1600, "div_val": 3,
                         "vocab_size": 267735, "cutoffs": [20000, 40000, 200000]})"),
             match::ContainsSubstring("div_val cubed must divide hidden"));
}
