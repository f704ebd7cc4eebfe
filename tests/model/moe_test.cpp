// Mixtures of experts and latent attention against published counts and counts by hand.
#include "model/moe.h"

#include <algorithm>
#include <string>

#include "model/io/model_file.h"
#include "model/transformer.h"
#include "tests/catch2.h"
#include "tests/model/product_of.h"

using namespace stepsight;

namespace {

Training tokens(std::int64_t batch, std::int64_t seq) {
  Training t;
  t.batch = batch;
  t.seq = seq;
  return t;
}

// Parameters that one token meets: the experts that it visits only.
double active_parameters(const ModelShape& s) {
  const double expert = 3.0 * static_cast<double>(s.hidden * s.expert_ffn);
  const auto idle = static_cast<double>(s.experts - s.experts_per_token);
  return static_cast<double>(parameter_count(s)) -
         static_cast<double>(s.layers - s.dense_layers) * idle * expert;
}

}  // namespace

TEST_CASE("a token of a mixture meets the published number of active parameters") {
  // Mixtral 8x7B: 12.9 B, 8x22B: 39 B; DeepSeek-V2: 21 B, V3: 37 B (their papers and model cards).
  CHECK(active_parameters(read_model("mixtral-8x7b")) / 1e9 == Approx(12.9).epsilon(0.005));
  CHECK(active_parameters(read_model("mixtral-8x22b")) / 1e9 == Approx(39.1).epsilon(0.005));
  CHECK(active_parameters(read_model("deepseek-v2")) / 1e9 == Approx(21.4).epsilon(0.02));
  CHECK(active_parameters(read_model("deepseek-v3")) / 1e9 == Approx(37.5).epsilon(0.02));
}

TEST_CASE("a mixture's model FLOP are 6 an active parameter and token, and attention's") {
  for (const char* name : {"mixtral-8x7b", "deepseek-v3"}) {
    INFO(name);
    const ModelShape s = read_model(name);
    const Training t = tokens(1, 4096);
    const double weights = active_parameters(s) - static_cast<double>(s.vocab * s.hidden);
    // Per token and layer 2 x 2 x (query's + value's width) / 2 x seq forward, three times that
    // with backward, half of it under the causal mask.
    const double widths = static_cast<double>(
        s.kv_rank > 0 ? s.heads * (s.head_dim + s.rope_dim + s.v_dim) : 2 * s.heads * s.head_dim);
    const double attention = 0.5 * 6 * static_cast<double>(s.layers * t.seq) * widths;
    CHECK(step_work(s, t).model_flops.value ==
          Approx((6 * weights + attention) * 4096).epsilon(1e-3));
  }
}

TEST_CASE("experts share out the tokens' visits, and a capacity factor pads them") {
  ModelShape s = read_model("mixtral-8x7b");
  CHECK(expert_rows(s, 4096) == 1024);  // 4096 tokens x 2 / 8
  CHECK(expert_rows(s, 5) == 2);        // 1.25, rounded up
  s.capacity_factor = 1.25;
  CHECK(expert_rows(s, 4096) == 1280);
  const StepWork work = step_work(s, tokens(2, 2048));
  const Gemm& up = product(work.block, "expert up");
  CHECK(up.batch == 8);
  CHECK(up.m == 1280);
  CHECK(up.n == 14336);
  CHECK(up.k == 4096);
}

TEST_CASE("what experts' ranks exchange is each token once for each of its experts") {
  const ModelShape s = read_model("deepseek-v3");
  CHECK(expert_exchange_bytes(s, 4096, Dtype::bf16) == 4096.0 * 8 * 7168 * 2);
}

TEST_CASE("the first layers of DeepSeek have no experts and stand before its blocks") {
  const ModelShape s = read_model("deepseek-v3");
  const StepWork work = step_work(s, tokens(1, 512));
  CHECK(work.blocks == 58);
  CHECK(product(work.embedding, "mlp up").n == 18432);
  CHECK(product(work.block, "expert up").batch == 256);
  CHECK(product(work.block, "shared up").n == 2048);
}

TEST_CASE("latent attention projects through its narrow layers") {
  const ModelShape s = read_model("deepseek-v2");
  const StageWork block = step_work(s, tokens(1, 512)).block;
  CHECK(product(block, "query up").n == 128 * 192);
  CHECK(product(block, "query up").k == 1536);
  CHECK(product(block, "key-value down").n == 512 + 64);
  CHECK(product(block, "key-value up").n == 128 * 256);
  CHECK(product(block, "attention output").k == 128 * 128);
}

TEST_CASE("keys of experts and latent attention that do not fit together are named") {
  const auto first = [](auto change) {
    ModelShape s = read_model("deepseek-v3");
    change(s);
    const std::vector<std::string> found = problems(s);
    return found.empty() ? std::string() : found.front();
  };
  CHECK(first([](ModelShape&) {}).empty());
  CHECK(first([](ModelShape& s) { s.experts_per_token = 300; }) ==
        "experts_per_token must be 1 to experts = 256, got 300");
  CHECK(first([](ModelShape& s) { s.experts = 0; }) ==
        "experts_per_token needs experts, of which there are none");
  CHECK(first([](ModelShape& s) { s.dense_layers = 61; }) ==
        "dense_layers must be 0 to layers - 1, got 61");
  CHECK(first([](ModelShape& s) { s.v_dim = 0; }) == "v_dim must be at least 1 with kv_rank");
  CHECK(first([](ModelShape& s) { s.kv_rank = 0; }) == "q_rank needs kv_rank (latent attention)");
}
