// Parameter counts against the published ones, each derived here by hand.
#include "model/model_shape.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/io/builtin.h"
#include "model/io/model_file.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

struct Published {
  std::string name;
  std::int64_t parameters;
};

// GPT-2: embedding and positions, L blocks of 12 h^2 + 13 h (qkv 3h^2 + 3h, out h^2 + h, up
// 4h^2 + 4h, down 4h^2 + h, two norms 4h), a last norm of 2h; the head is the embedding.
constexpr std::int64_t gpt2(std::int64_t layers, std::int64_t h) {
  return (50257 + 1024) * h + layers * (12 * h * h + 13 * h) + 2 * h;
}

// Llama: q and out h^2 each, k and v h x kv_width each, three feed-forward matrices, two norms of
// h; `tables` embeddings (2 when the head is its own), a last norm. `bias` counts Qwen2's.
constexpr std::int64_t llama(std::int64_t layers,
                             std::int64_t h,
                             std::int64_t kv_width,
                             std::int64_t ffn,
                             std::int64_t vocab,
                             std::int64_t tables,
                             std::int64_t bias = 0) {
  return tables * vocab * h + layers * (2 * h * h + 2 * h * kv_width + 3 * h * ffn + 2 * h + bias) +
         h;
}

// BERT: three embeddings with a norm, L blocks of four h x h and two h x ffn matrices with biases
// and two norms.
constexpr std::int64_t bert(std::int64_t layers, std::int64_t h, std::int64_t ffn) {
  return (30522 + 512 + 2) * h + 2 * h +
         layers * (4 * (h * h + h) + (h * ffn + ffn) + (ffn * h + h) + 4 * h);
}
constexpr std::int64_t pooler(std::int64_t h) {
  return h * h + h;
}
// Dense, norm and the decoder's bias; the decoder's weight is the embedding.
constexpr std::int64_t mlm(std::int64_t h) {
  return h * h + h + 2 * h + 30522;
}

const std::vector<Published> published{
    {"gpt2-124m", 124439808},      {"gpt2-355m", 354823168},        {"gpt2-774m", 774030080},
    {"gpt2-1558m", 1557611200},    {"llama2-7b", 6738415616},       {"llama2-13b", 13015864320},
    {"llama2-70b", 68976648192},   {"llama3-8b", 8030261248},       {"llama3-70b", 70553706496},
    {"llama3-405b", 405853388800}, {"llama3.2-1b", 1235814400},     {"llama3.2-3b", 3212749824},
    {"qwen2.5-1.5b", 1543714304},  {"bert-base", 109482240},        {"bert-large", 335141888},
    {"tinybert-14m", 14350248},    {"bert-base-mlm", 109514298},    {"bert-large-mlm", 335174458},
    {"mixtral-8x7b", 46702792704}, {"mixtral-8x22b", 140620634112}, {"deepseek-v2", 235741434880},
    {"deepseek-v3", 671026404352}, {"vit-base-16", 86567656},       {"vit-large-16", 304326632},
    {"vit-huge-14", 632045800},    {"txl-base", 191950298},         {"txl-large", 285167482},
    {"t5-base", 222903552},        {"t5-large", 737668096},         {"t5-3b", 2851598336},
    {"t5-11b", 11307321344},       {"resnet18", 11689512},          {"resnet34", 21797672},
    {"resnet50", 25557032},        {"resnet101", 44549160},         {"resnet152", 60192808},
};

ModelShape small_gpt() {
  ModelShape shape = read_model("gpt2-124m");
  shape.layers = 2;
  return shape;
}

}  // namespace

TEST_CASE("every built-in model has the published number of parameters, to the parameter") {
  for (const Published& model : published) {
    INFO(model.name);
    CHECK(parameter_count(read_model(model.name)) == model.parameters);
  }
}

TEST_CASE("every built-in model is in the list of published counts") {
  const std::vector<std::string_view> names = builtin_names("models");
  CHECK(names.size() == published.size());
  for (const std::string_view name : names) {
    INFO(name);
    CHECK(std::any_of(published.begin(), published.end(), [&](const Published& model) {
      return model.name == name;
    }));
  }
}

TEST_CASE("the published counts follow from the architectures") {
  CHECK(gpt2(12, 768) == 124439808);
  CHECK(gpt2(24, 1024) == 354823168);
  CHECK(gpt2(36, 1280) == 774030080);
  CHECK(gpt2(48, 1600) == 1557611200);
  CHECK(llama(32, 4096, 4096, 11008, 32000, 2) == 6738415616);
  CHECK(llama(40, 5120, 5120, 13824, 32000, 2) == 13015864320);
  CHECK(llama(80, 8192, 1024, 28672, 32000, 2) == 68976648192);
  CHECK(llama(32, 4096, 1024, 14336, 128256, 2) == 8030261248);
  CHECK(llama(80, 8192, 1024, 28672, 128256, 2) == 70553706496);
  CHECK(llama(126, 16384, 1024, 53248, 128256, 2) == 405853388800);
  CHECK(llama(16, 2048, 512, 8192, 128256, 1) == 1235814400);
  CHECK(llama(28, 3072, 1024, 8192, 128256, 1) == 3212749824);
  CHECK(llama(28, 1536, 256, 8960, 151936, 1, 1536 + 2 * 256) == 1543714304);
  CHECK(bert(12, 768, 3072) + pooler(768) == 109482240);
  CHECK(bert(24, 1024, 4096) + pooler(1024) == 335141888);
  CHECK(bert(4, 312, 1200) + pooler(312) == 14350248);
  CHECK(bert(24, 1024, 4096) + mlm(1024) == 335174458);
}

TEST_CASE("variants that were measured have the counts that the measurement recorded") {
  ModelShape gpt = read_model("gpt2-124m");
  gpt.vocab = 50304;
  CHECK(parameter_count(gpt) == 124475904);
  gpt = read_model("gpt2-774m");
  gpt.vocab = 50304;
  CHECK(parameter_count(gpt) == 774090240);
  ModelShape untied = read_model("llama3.2-1b");
  untied.tied_head = false;
  CHECK(parameter_count(untied) == 1498482688);
}

TEST_CASE("a fused projection has the parameters of its parts in fewer tensors") {
  ModelShape fused = read_model("qwen2.5-1.5b");
  const auto parts = parameter_tensors(fused);
  fused.fused_qkv = fused.fused_gate_up = true;
  const auto whole = parameter_tensors(fused);
  CHECK(parameter_count(fused) == 1543714304);
  // qkv: three weights and three biases become one each; gate and up become one.
  CHECK(parts.size() - whole.size() == 28 * (2 + 2 + 1));
}

TEST_CASE("tensors come in the order in which the framework registers them") {
  std::vector<std::string_view> roles;
  std::vector<std::int64_t> layers;
  for (const ParameterTensor& tensor : parameter_tensors(small_gpt())) {
    roles.push_back(tensor.role);
    layers.push_back(tensor.layer);
  }
  REQUIRE(roles.size() == 2 + 2 * 12 + 2);
  CHECK(roles.front() == "embedding");
  CHECK(roles[1] == "positions");
  CHECK(roles[2] == "norm1.weight");
  CHECK(roles[4] == "qkv.weight");
  CHECK(roles.back() == "final_norm.bias");
  CHECK(layers.front() == -1);
  CHECK(layers[2] == 0);
  CHECK(layers[14] == 1);
  CHECK(layers.back() == 2);
  CHECK(std::is_sorted(layers.begin(), layers.end()));
}

TEST_CASE("an untied head is the last tensor, a tied one is none") {
  CHECK(parameter_tensors(read_model("llama2-7b")).back().role == "head.weight");
  CHECK(parameter_tensors(read_model("llama3.2-1b")).back().role == "final_norm.weight");
}

TEST_CASE("problems name the field at fault first and are silent for good models") {
  CHECK(problems(small_gpt()).empty());
  ModelShape shape = small_gpt();
  shape.heads = 7;
  shape.head_dim = 0;
  shape.kv_heads = 2;
  shape.vocab = 0;
  const std::vector<std::string> found = problems(shape);
  REQUIRE(found.size() == 3);
  CHECK(found[0] == "vocab must be at least 1, got 0");
  CHECK(found[1] == "heads must divide hidden: 768 / 7 leaves 5");
  CHECK(found[2] == "kv_heads must divide heads: 7 / 2 leaves 1");
}

TEST_CASE("a head width of its own need not divide hidden") {
  ModelShape shape = small_gpt();
  shape.heads = shape.kv_heads = 7;
  shape.head_dim = 128;
  CHECK(problems(shape).empty());
}

TEST_CASE("a model whose count would overflow is refused") {
  ModelShape shape = small_gpt();
  shape.hidden = 1000000;
  shape.ffn = 10000000;
  shape.layers = 10000;
  CHECK_FALSE(problems(shape).empty());
}
