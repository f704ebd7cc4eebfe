// What people could and could not run, against the verdict and the largest batch. Only cases that
// say model, batch, card and recipe; those that do not name the card (TinyLlama with offloading,
// axolotl #1114) or the model's width (a 1B GPT-NeoX on eight RTX 8000, EleutherAI/gpt-neox #424)
// are left out, and so are those that train adapters or offload, which stepsight does not model.
#include <array>
#include <string>

#include "model/io/model_file.h"
#include "simulate/memory.h"
#include "tests/catch2.h"
#include "tests/model/toy_gpu.h"

using namespace stepsight;

namespace {

constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

Memory on_card(const Scenario& s, double card_GiB) {
  GpuProfile gpu = toy_gpu();
  gpu.hbm_TBps = 2;
  gpu.vendor_TFLOPS[static_cast<std::size_t>(Dtype::fp8)] = 0;  // none of these cards is a Hopper
  gpu.memory_bytes = card_GiB * gibibyte;
  const bool synced = s.parallel.strategy == Strategy::ddp && s.cluster.gpus > 1;
  return memory_of(step_work(s), s, gpu, synced);
}

Scenario training_of(const char* model, std::int64_t gpus, std::int64_t batch, std::int64_t seq) {
  Scenario s;
  s.model = read_model(model);
  s.training.batch = batch;
  s.training.seq = seq;
  s.cluster.gpus = gpus;
  return s;
}

// Full fine-tuning with parameters and states in fp32, computed in bf16.
Scenario fine_tuning(const char* model, std::int64_t gpus, Strategy strategy) {
  Scenario s = training_of(model, gpus, 1, 2048);
  s.training.precision.mixed = true;
  s.training.recompute = Recompute::full;
  s.parallel.strategy = strategy;
  return s;
}

}  // namespace

TEST_CASE("batches that filled cards with BERT fit, and a third more does not") {
  // Lambda's deep learning benchmark (lambda.ai/gpu-benchmarks): NVIDIA's DeepLearningExamples,
  // SQuAD at 384 tokens, apex O2, attention not yet fused; its batch for each size of card.
  struct Card {
    double GiB;
    std::int64_t base, large;
  };
  constexpr std::array<Card, 4> cards{{{16, 48, 16}, {24, 96, 28}, {48, 192, 64}, {80, 320, 112}}};
  for (const Card& card : cards) {
    for (const bool large : {false, true}) {
      const std::int64_t batch = large ? card.large : card.base;
      Scenario s = training_of(large ? "bert-large" : "bert-base", 1, batch, 384);
      s.model.dropout = 0.1;
      s.training.precision = {Dtype::fp16, false, true};
      s.training.flash_attention = false;
      const Memory m = on_card(s, card.GiB);
      INFO(s.model.name << ", " << batch << " on " << card.GiB << " GiB: up to "
                        << m.largest_batch);
      CHECK(m.fits);
      CHECK(m.largest_batch * 3 < batch * 4);
    }
  }
}

TEST_CASE("GPT-2 124M in fp32 with 4 sequences fits a Titan RTX") {
  // huggingface/transformers #9371: two of them, with and without NVLink.
  Scenario s = training_of("gpt2-124m", 2, 4, 1024);
  s.model.dropout = 0.1;
  s.training.precision.compute = Dtype::fp32;
  s.training.flash_attention = false;
  CHECK(on_card(s, 24).fits);
}

TEST_CASE("7 billion parameters cannot be trained whole in fp16 on one card of 40 GB") {
  Scenario s = training_of("llama2-7b", 1, 1, 512);
  s.training.precision.compute = Dtype::fp16;
  s.training.recompute = Recompute::full;
  const Memory m = on_card(s, 40);
  CHECK_FALSE(m.fits);
  CHECK(m.largest_batch == 0);
}

TEST_CASE(
    "Llama-2 7B is fine-tuned on four cards of 80 GB under FSDP, 70B is not without offloading") {
  // huggingface/accelerate #2675.
  CHECK(on_card(fine_tuning("llama2-7b", 4, Strategy::fsdp), 80).fits);
  const Memory m = on_card(fine_tuning("llama2-70b", 4, Strategy::fsdp), 80);
  CHECK_FALSE(m.fits);
  REQUIRE_FALSE(m.remedies.empty());
  CHECK(m.remedies.front().kind == RemedyKind::more_gpus);
}

TEST_CASE("70 billion parameters under ZeRO-3 need several machines of eight cards of 40 GB") {
  // deepspeedai/DeepSpeed #4281, #6889.
  CHECK_FALSE(on_card(fine_tuning("llama2-70b", 8, Strategy::zero3), 40).fits);
  CHECK(on_card(fine_tuning("llama2-70b", 64, Strategy::zero3), 40).fits);
}

TEST_CASE("Llama-3 8B trains on eight cards of 80 GB under FSDP at 8192 tokens") {
  // pytorch/torchtitan, its Llama-3.1 8B recipe: two sequences, activations recomputed.
  Scenario s = fine_tuning("llama3-8b", 8, Strategy::fsdp);
  s.training.seq = 8192;
  s.training.batch = 2;
  CHECK(on_card(s, 80).fits);
}

TEST_CASE("the optimizer's states of GPT-2 1.5B are the 18 GB that its checkpoints held") {
  // intelligent-machine-learning/dlrover, docs/blogs/megatron_flash_checkpoint.md.
  Scenario s = training_of("gpt2-1558m", 1, 1, 1024);
  s.training.precision = {Dtype::fp16, false, true};
  CHECK(on_card(s, 80).optimizer == Approx(18e9).epsilon(0.05));
}

TEST_CASE("BLOOM's states are the 2.3 TB that its checkpoints held") {
  // stas00/ml-engineering, training/fault-tolerance: bf16 parameters, fp32 copy and moments.
  Scenario s;
  ModelShape& m = s.model;
  m.layers = 70;
  m.hidden = 14336;
  m.heads = m.kv_heads = 112;
  m.head_dim = 128;
  m.ffn = 4 * 14336;
  m.vocab = 250880;
  m.max_seq = 2048;
  m.tied_head = m.bias = m.fused_qkv = true;
  s.training.seq = 2048;
  s.training.precision = {Dtype::bf16, false, true};
  const Memory states = on_card(s, 80);
  CHECK(states.parameters + states.optimizer == Approx(2.3e12).epsilon(0.08));
}
