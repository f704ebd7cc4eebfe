// Vision transformers and Transformer-XL: what sets them apart from the usual blocks.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "model/io/model_file.h"
#include "model/io/run_scenario.h"
#include "model/transformer.h"
#include "model/transformer_xl.h"
#include "tests/catch2.h"
#include "tests/model/product_of.h"

using namespace stepsight;

namespace {

Training training(std::int64_t batch, std::int64_t seq) {
  Training t;
  t.batch = batch;
  t.seq = seq;
  return t;
}

}  // namespace

TEST_CASE("a vision transformer's forward takes the published multiply-adds") {
  // torchvision's figures, without attention's own products: 17.56, 61.55 and 167.29 G with them.
  const std::pair<const char*, double> published[] = {
      {"vit-base-16", 17.56}, {"vit-large-16", 61.55}, {"vit-huge-14", 167.29}};
  for (const auto& [name, giga] : published) {
    INFO(name);
    const double flop = step_work(read_model(name), training(1, 1)).model_flops.value;
    CHECK(flop / 6 / 1e9 == Approx(giga).epsilon(0.005));
  }
}

TEST_CASE("an image is as many tokens as it has patches, and one for its class") {
  const ModelShape s = read_model("vit-base-16");
  CHECK(longest_sequence(s) == 197);
  const StepWork work = step_work(s, training(8, 197));
  CHECK(product(work.block, "mlp up").m == 8 * 197);
  CHECK(product(work.head, "classifier").m == 8);
  const auto attention = std::ranges::find_if(work.block.forward, [](const Operator& op) {
    return std::holds_alternative<Attention>(op.work);
  });
  REQUIRE(attention != work.block.forward.end());
  CHECK_FALSE(std::get<Attention>(attention->work).causal);
}

TEST_CASE("Transformer-XL's queries see the memory as well as the segment") {
  const ModelShape s = read_model("txl-base");
  const StageWork block = step_work(s, training(4, 192)).block;
  CHECK(product(block, "qkv").m == 4 * (192 + 192));
  CHECK(product(block, "positions").m == 192 + 192);
  const Gemm& content = product(block, "scores by content");
  CHECK(content.m == 192);
  CHECK(content.n == 384);
  CHECK(content.batch == 4 * 8);
  const Gemm& distance = product(block, "scores by distance");
  CHECK(distance.m == 4 * 192);
  CHECK(distance.batch == 8);
}

TEST_CASE("words are met by Zipf's law, all of them once") {
  const ModelShape s = read_model("txl-base");
  const auto shares = word_shares(s);
  CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == Approx(1));
  // H(19997) / H(267735) with the harmonic numbers summed up.
  double head = 0;
  double all = 0;
  for (int rank = 1; rank <= 267735; ++rank) {
    all += 1.0 / rank;
    if (rank == 19997) head = all;
  }
  CHECK(shares[0] == Approx(head / all).epsilon(1e-4));
}

TEST_CASE("an adaptive softmax takes less than a full one") {
  const ModelShape s = read_model("txl-base");
  const StepWork work = step_work(s, training(8, 192));
  double flop = 0;
  for (const Operator& op : work.head.forward) {
    if (const auto* gemm = std::get_if<Gemm>(&op.work)) flop += flops(*gemm).value;
  }
  const double full = 2.0 * 8 * 192 * 267735 * 512;
  CHECK(flop < 0.2 * full);
  CHECK(flop > 2.0 * 8 * 192 * 20000 * 512);
}

TEST_CASE("cutoffs that do not rise are refused") {
  ModelShape s = read_model("txl-base");
  s.cutoff_2 = s.cutoff_1;
  REQUIRE(problems(s).size() == 1);
  CHECK(problems(s).front() ==
        "cutoff_1, cutoff_2 and cutoff_3 must rise, and stay below vocab: 19997, 19997, 199997 of "
        "267735");
}

TEST_CASE(
    "word vectors that narrow from cluster to cluster have tables and projections of their own") {
  ModelShape s = read_model("txl-large");
  CHECK(s.div_val == 4);
  // PyTorch counts as many in tests/validation/train_txl.py.
  CHECK(parameter_count(s) == 285167482);
  const StepWork work = step_work(s, training(8, 384));
  // The last cluster's words are 67,738, each 1024 / 64 wide.
  const auto of_width = [&](std::int64_t n, std::int64_t k) {
    return std::ranges::any_of(work.head.forward, [&](const Operator& op) {
      const auto* gemm = std::get_if<Gemm>(&op.work);
      return gemm != nullptr && gemm->n == n && gemm->k == k;
    });
  };
  CHECK(of_width(67738, 16));
  CHECK(of_width(16, 1024));
  CHECK(of_width(20000, 1024));
  s.div_val = 3;
  REQUIRE(problems(s).size() == 1);
  CHECK(problems(s).front() == "div_val cubed must divide hidden, got 3 and 1024");
}

TEST_CASE("a measured run's parameters tell whether its word vectors narrow") {
  MeasuredRun r;
  r.complete = "yes";
  r.std_family = "txl";
  r.std_gpu = "rtx-3090";
  r.std_compute = "fp16";
  r.std_flash = "no";
  r.layers = 18;
  r.hidden = 1024;
  r.heads = 16;
  r.ffn = 4096;
  r.vocab = 267735;
  r.seq = 256;
  r.micro_batch = 8;
  r.gpus = 1;
  const auto div_val = [&](std::optional<std::int64_t> parameters) {
    r.params = parameters;
    const auto answer = scenario_of(r);
    REQUIRE(std::holds_alternative<Scenario>(answer));
    return std::get<Scenario>(answer).model.div_val;
  };
  CHECK(div_val(519963095) == 1);
  CHECK(div_val(285167482) == 4);
  CHECK(div_val(std::nullopt) == 4);  // as the published configuration of these sizes has it
}

TEST_CASE(
    "autocast takes Transformer-XL's softmax in fp32, and attention's dropout is a pass over its "
    "scores") {
  ModelShape s = read_model("txl-base");
  Training t = training(4, 192);
  const auto softmax = [&] {
    const StageWork block = step_work(s, t).block;
    const auto at = std::ranges::find_if(block.forward, [](const Operator& op) {
      const auto* pass = std::get_if<Pass>(&op.work);
      return pass != nullptr && pass->kind == PassKind::softmax;
    });
    REQUIRE(at != block.forward.end());
    return std::get<Pass>(at->work).dtype;
  };
  CHECK(softmax() == Dtype::bf16);
  t.precision.mixed = true;
  CHECK(softmax() == Dtype::fp32);
  const std::size_t before = step_work(s, t).block.forward.size();
  s.attention_dropout = 0.2;
  CHECK(step_work(s, t).block.forward.size() == before + 1);
}

TEST_CASE("a measured Transformer-XL run says its memory, a ResNet run its net and images") {
  MeasuredRun r;
  r.complete = "yes";
  r.std_family = "txl";
  r.std_gpu = "a100-sxm-40";
  r.std_compute = "fp16";
  r.precision = "fp16 (apex amp O2)";
  r.std_flash = "no";
  r.layers = 16;
  r.hidden = 512;
  r.heads = 8;
  r.ffn = 2048;
  r.vocab = 267735;
  r.seq = 192;
  r.micro_batch = 8;
  r.gpus = 1;
  r.notes = "mem_len 160 (attention spans tgt_len+mem_len keys); optimizer adam";
  const auto answer = scenario_of(r);
  REQUIRE(std::holds_alternative<Scenario>(answer));
  const auto& s = std::get<Scenario>(answer);
  CHECK(s.model.memory == 160);
  CHECK(s.model.head_dim == 64);
  CHECK(s.training.precision.master);
  CHECK_FALSE(s.training.fused_optimizer);

  MeasuredRun net;
  net.complete = "yes";
  net.std_family = "resnet";
  net.model = "resnet101";
  net.std_gpu = "h200-sxm";
  net.std_compute = "bf16";
  net.precision = "fp32 parameters and gradients, bf16 autocast";
  net.micro_batch = 64;
  net.gpus = 1;
  net.notes = "192x192 images; min 23.76 max 28.15 ms";
  const auto taken = scenario_of(net);
  REQUIRE(std::holds_alternative<Scenario>(taken));
  const auto& t = std::get<Scenario>(taken);
  CHECK(t.model.layers == 101);
  CHECK(t.model.image == 192);
  CHECK(t.training.precision.mixed);
  CHECK(t.training.optimizer == OptimizerKind::sgd_momentum);
}
