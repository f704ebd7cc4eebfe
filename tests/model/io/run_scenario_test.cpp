// From a measured row to the scenario that it measured, or the reason why it cannot be told.
#include "model/io/run_scenario.h"

#include "tests/catch2.h"

using namespace stepsight;

namespace {

// GPT-2 124M as our own runs have it: vocabulary padded to 50304.
MeasuredRun gpt_row() {
  MeasuredRun r;
  r.id = "H2001";
  r.model = "gpt2-124m";
  r.complete = "yes";
  r.gpus = r.nodes = 1;
  r.params = 124475904;
  r.layers = 12;
  r.hidden = 768;
  r.heads = r.kv_heads = 12;
  r.ffn = 3072;
  r.vocab = 50304;
  r.seq = 1024;
  r.micro_batch = 8;
  r.grad_accum = 2;
  r.step_time_s = 0.02;
  r.precision = "pure bf16 (parameters, gradients, Adam states)";
  r.std_family = "gpt";
  r.std_gpu = "h200-sxm";
  r.std_compute = "bf16";
  r.std_dp = "ddp";
  r.std_recompute = "none";
  r.std_flash = "yes";
  r.std_compile = "no";
  r.std_grad_bytes = 2;
  return r;
}

Scenario scenario(const MeasuredRun& run) {
  const auto answer = scenario_of(run);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) FAIL(refusal->reason);
  return std::get<Scenario>(answer);
}

template <typename Change>
std::string refusal(Change change) {
  MeasuredRun run = gpt_row();
  change(run);
  const auto answer = scenario_of(run);
  const auto* no = std::get_if<Refusal>(&answer);
  return no == nullptr ? "" : no->reason;
}

}  // namespace

TEST_CASE("a row's words tell the generation of its attention and the checkpoint that it ran") {
  MeasuredRun r = gpt_row();
  CHECK(scenario(r).training.attention_kernel == AttentionKernel::usual);
  r.attention = "flash 2";
  CHECK(scenario(r).training.attention_kernel == AttentionKernel::flash2);
  r.attention = "flash";
  CHECK(scenario(r).training.attention_kernel == AttentionKernel::usual);
  r.std_gpu = "a100-sxm-80";
  CHECK(scenario(r).training.attention_kernel == AttentionKernel::flash1);
  r.std_dp = "fsdp";
  CHECK_FALSE(scenario(r).training.recompute_early_stop);
  r.attention = "flash 2";
  CHECK(scenario(r).training.recompute_early_stop);
  r.std_dp = "ddp";
  CHECK_FALSE(scenario(r).training.recompute_early_stop);
  // torch's own, by the release that the row names.
  r.std_gpu = "h100-sxm";
  r.attention = "flash (SDPA)";
  CHECK(scenario(r).training.attention_kernel == AttentionKernel::usual);
  r.measured_how = "5100 steps, PyTorch 2.4.1+cu121";
  CHECK(scenario(r).training.attention_kernel == AttentionKernel::flash2);
  r.measured_how = "CUDA events, PyTorch 2.11 + CUDA 13";
  CHECK(scenario(r).training.attention_kernel == AttentionKernel::usual);
}

TEST_CASE(
    "Megatron-LM pads the vocabulary to whole tiles of each rank and sums bf16's gradients in "
    "fp32") {
  MeasuredRun r = gpt_row();
  r.vocab = 250680;
  r.params = std::nullopt;
  CHECK(scenario(r).model.vocab == 250680);
  CHECK_FALSE(scenario(r).training.gradient_dtype);
  r.std_grad_bytes = std::nullopt;
  r.measured_how = "Megatron-LM, 10 iterations";
  CHECK(scenario(r).model.vocab == 250752);
  CHECK(scenario(r).training.gradient_dtype == Dtype::fp32);
  CHECK(scenario(r).training.fused_kernels);
}

TEST_CASE("a complete row is the scenario that it measured") {
  const Scenario s = scenario(gpt_row());
  CHECK(s.model.family == Family::gpt);
  CHECK(parameter_count(s.model) == 124475904);
  CHECK(s.model.tied_head);
  CHECK(s.training.batch == 8);
  CHECK(s.training.seq == 1024);
  CHECK(s.training.accumulation == 2);
  CHECK(s.training.precision == Precision{Dtype::bf16, false});
  CHECK_FALSE(s.training.compile);
  CHECK(s.training.flash_attention);
  CHECK(s.cluster.gpus == 1);
  CHECK(s.cluster.link.empty());
}

TEST_CASE("the parameter count says whether the head is tied") {
  MeasuredRun run = gpt_row();
  run.params = 124475904 + 50304 * 768;
  CHECK_FALSE(scenario(run).model.tied_head);
  run.params.reset();
  CHECK(scenario(run).model.tied_head);  // GPT's usual
}

TEST_CASE("autocast, compilation and gradient types are read from their columns") {
  MeasuredRun run = gpt_row();
  run.precision = "fp32 parameters and gradients, bf16 autocast";
  run.std_grad_bytes = 4;
  run.std_compile = "yes";
  run.std_recompute = "full";
  const Scenario s = scenario(run);
  CHECK(s.training.precision == Precision{Dtype::bf16, true});
  CHECK_FALSE(s.training.gradient_dtype);
  CHECK(s.training.compile);
  CHECK(s.training.recompute == Recompute::full);
  run = gpt_row();
  run.std_grad_bytes = 4;  // pure bf16 whose gradients are reduced in fp32
  CHECK(scenario(run).training.gradient_dtype == Dtype::fp32);
}

TEST_CASE("a DDP wrapper with one rank fills buckets and copies them as often as the link says") {
  MeasuredRun run = gpt_row();
  run.sharding = "DDP wrapper, 1 rank, bucket_cap_mb=5";
  const Scenario idle = scenario(run);
  CHECK(idle.cluster.link == "loopback:0");
  CHECK(idle.parallel.bucket_cap_MB == 5);
  CHECK(idle.parallel.first_bucket_MB == 1);
  run.sharding = "DDP, bucket_cap_mb=100, first_bucket_mb=100";
  CHECK(scenario(run).parallel.bucket_cap_MB == 100);
  CHECK(scenario(run).parallel.first_bucket_MB == 100);
  run.sharding = "DDP wrapper, 1 rank, bucket_cap_mb=5";
  run.std_intra = "loopback:4";
  run.std_overlap = "no";
  CHECK(scenario(run).cluster.link == "loopback:4");
  CHECK_FALSE(scenario(run).parallel.overlap);
}

TEST_CASE("a row that splits layers over GPUs is read as the stacks do that") {
  MeasuredRun run = gpt_row();
  run.gpus = 8;
  run.std_intra = "nvswitch";
  run.std_gpu = "a100-sxm-80";
  run.tp = 4;
  run.dp = 2;
  run.vocab = 50257;
  run.precision = "fp16";
  run.std_compute = "fp16";
  run.family = "decoder (Megatron GPT)";
  run.attention = "unfused (fused softmax kernel)";
  run.std_flash = "no";
  run.recompute = "selective (attention core) + sequence parallelism";
  run.std_recompute = "selective";
  const Scenario s = scenario(run);
  CHECK(s.parallel.tensor == 4);
  CHECK(s.parallel.sequence);
  CHECK(s.parallel.overlap_tensor);
  CHECK_FALSE(
      s.parallel.overlap);  // Megatron-LM sums gradients after backward unless asked otherwise
  CHECK(s.model.vocab == 50688);  // padded to a multiple of 128 x 4
  CHECK(s.training.precision.master);
  CHECK(s.training.recompute == Recompute::selective);
  CHECK(s.training.fused_kernels);
  run.notes = "all overlap switched off (TP, P2P, grad-reduce)";
  run.sharding = "overlap grad reduce";
  run.recompute.clear();
  CHECK_FALSE(scenario(run).parallel.overlap_tensor);
  CHECK_FALSE(scenario(run).parallel.sequence);
  CHECK(scenario(run).parallel.overlap);
  run.cp = 2;
  run.dp = 1;
  run.std_flash = "yes";
  CHECK(scenario(run).parallel.context == 2);
}

TEST_CASE("what is not simulated is refused with its reason") {
  using R = MeasuredRun;
  CHECK(refusal([](R&) {}) == "");
  CHECK(refusal([](R& r) { r.complete = "no: batch"; }) == "incomplete");
  CHECK(refusal([](R& r) { r.std_gpu.clear(); }) == "GPU not stated");
  CHECK(refusal([](R& r) { r.std_family = "moe"; }) == "mixture not known");
  for (const char* family : {"t5", "vit"}) {
    CHECK(refusal([&](R& r) { r.std_family = family; }) == std::string("family ") + family);
  }
  CHECK(refusal([](R& r) { r.std_family.clear(); }) == "family not stated");
  CHECK(refusal([](R& r) {
          r.pp = 24, r.gpus = 24, r.std_intra = "nvswitch";
        }).starts_with("impossible split: pipeline x chunks must be at most"));
  CHECK(refusal([](R& r) {
          r.tp = 8, r.gpus = 8, r.std_intra = "nvswitch";
        }).starts_with("impossible split: tensor must divide the model's heads"));
  CHECK(refusal([](R& r) { r.ep = 2; }).starts_with("impossible split: expert must be 1"));
  CHECK(refusal([](R& r) { r.gpus = r.nodes = 2; }) == "network not stated");
  CHECK(refusal([](R& r) { r.gpus = 3, r.nodes = 2, r.std_inter_gbps_per_node = 100; }) ==
        "uneven nodes");
  CHECK(refusal([](R& r) { r.std_dp = "by hand"; }) == "sharding by hand");
  CHECK(refusal([](R& r) { r.std_offload = "disk"; }) == "offload disk");
  CHECK(refusal([](R& r) { r.std_recompute = "some"; }) == "recompute some");
  CHECK(refusal([](R& r) { r.std_compute = "fp4"; }) == "compute fp4");
  CHECK(refusal([](R& r) { r.gpus = 8; }) == "link not stated");
}

TEST_CASE("a mixture cut to fewer layers is the known model with the row's layers") {
  MeasuredRun r = gpt_row();
  r.std_family = "moe";
  r.model = "deepseekv2 cut to 4 layers";
  r.family = "MoE decoder (DeepSeek MLA; 160 experts top-6 + shared, 1 dense layer)";
  r.params.reset();
  r.layers = 4;
  r.hidden = 5120;
  r.heads = r.kv_heads = 128;
  r.ffn = 12288;
  r.vocab = 102400;
  r.seq = 4096;
  r.gpus = r.dp = r.ep = 8;
  r.std_intra = "nvswitch";
  r.std_dp = "zero1";
  const Scenario s = scenario(r);
  CHECK(s.model.experts == 160);
  CHECK(s.model.layers == 4);
  CHECK(s.model.dense_layers == 1);
  CHECK(s.model.kv_rank == 512);
  CHECK(s.parallel.expert == 8);
  // What the row says must be the model's.
  for (const auto change : {+[](MeasuredRun& row) { row.hidden = 4096; },
                            +[](MeasuredRun& row) { row.family = "MoE decoder (64 experts)"; },
                            +[](MeasuredRun& row) { row.model = "deepseekv9"; }}) {
    MeasuredRun other = r;
    change(other);
    const auto answer = scenario_of(other);
    REQUIRE(std::holds_alternative<Refusal>(answer));
    CHECK(std::get<Refusal>(answer).reason == "mixture not known");
  }
}

TEST_CASE("a row's words tell of all-to-all context parallelism and of offloading") {
  MeasuredRun r = gpt_row();
  r.std_family = "llama";
  r.cp = r.gpus = 2;
  r.dp = 1;
  r.std_intra = "nvswitch";
  r.notes = "all overlap switched off (TP, P2P, grad-reduce; CP is all-to-all)";
  CHECK(scenario(r).parallel.context_mode == ContextMode::all_to_all);
  r = gpt_row();
  r.std_compute = "fp8";
  CHECK(scenario(r).training.fp8);
  CHECK(scenario(r).training.precision.compute == Dtype::bf16);
  r = gpt_row();
  r.gpus = r.dp = 8;
  r.std_intra = "nvswitch";
  r.std_dp = "zero3";
  r.std_offload = "optimizer";
  CHECK(scenario(r).parallel.offload == Offload::optimizer);
}

TEST_CASE("what is missing or impossible is named") {
  using R = MeasuredRun;
  CHECK(refusal([](R& r) { r.layers.reset(); }) == "no layers");
  CHECK(refusal([](R& r) { r.seq.reset(); }) == "no sequence length");
  CHECK(refusal([](R& r) { r.micro_batch.reset(); }) == "no micro-batch");
  CHECK(refusal([](R& r) { r.gpus.reset(); }) == "no number of GPUs");
  CHECK_THAT(refusal([](R& r) { r.heads = 7; }), match::StartsWith("impossible model: "));
  CHECK_THAT(refusal([](R& r) { r.kv_heads = 5; }), match::StartsWith("impossible model: "));
}

TEST_CASE("sharded runs keep fp32 shards and share them within the group that they name") {
  const auto scenario_with = [](auto change) {
    MeasuredRun r = gpt_row();
    r.gpus = 16;
    r.nodes = 2;
    r.dp = 16;
    r.std_intra = "nvswitch";
    r.std_inter_gbps_per_node = 1600;
    change(r);
    return scenario(r);
  };
  const Scenario fsdp = scenario_with([](MeasuredRun& r) { r.std_dp = "fsdp"; });
  CHECK(fsdp.parallel.strategy == Strategy::fsdp);
  CHECK(fsdp.parallel.shard_group == 0);
  CHECK(fsdp.training.precision.mixed);
  CHECK(scenario_with([](MeasuredRun& r) { r.std_dp = "hsdp"; }).parallel.shard_group == 8);
  const Scenario zero = scenario_with([](MeasuredRun& r) {
    r.std_dp = "zero1";
    r.sharding = "ZeRO-1 over 8 GPUs (within node)";
  });
  CHECK(zero.parallel.strategy == Strategy::zero1);
  CHECK(zero.parallel.shard_group == 8);
}

TEST_CASE("the machines' adapters are those that the row counts") {
  MeasuredRun r = gpt_row();
  r.std_gpu = "a100-sxm-80";
  r.std_intra = "nvswitch";
  r.gpus = r.dp = 16;
  r.nodes = 2;
  r.std_inter_gbps_per_node = 400;
  CHECK(scenario(r).cluster.link == "nvlink3-nvswitch+8x50G-ib");
  r.network = "Omni-Path, 4 links per node (100 Gb/s each)";
  CHECK(scenario(r).cluster.link == "nvlink3-nvswitch+4x100G-opa");
}

TEST_CASE("torchtitan's checkpoint repeats operators, and its projections are apart") {
  MeasuredRun r = gpt_row();
  r.std_family = "llama";
  r.std_recompute = "selective";
  r.recompute = "selective (per-op SAC)";
  const Scenario s = scenario(r);
  CHECK(s.training.recompute == Recompute::operators);
  CHECK_FALSE(s.model.fused_qkv);
  CHECK_FALSE(s.model.fused_gate_up);
}

TEST_CASE("a trainer with fused kernels of its own pads its vocabulary to whole vectors") {
  MeasuredRun r = gpt_row();
  r.vocab = 50257;
  CHECK(scenario(r).model.vocab == 50257);
  r.compile = "no (fused kernels)";
  CHECK(scenario(r).model.vocab == 50264);
  CHECK(scenario(r).training.fused_kernels);
}

TEST_CASE(
    "Megatron-LM's decoders drop a tenth, and DeepSpeed's copy of it sums before it goes on") {
  MeasuredRun r = gpt_row();
  CHECK(scenario(r).model.dropout == 0);
  r.family = "decoder (Megatron GPT, MHA, GELU ffn x4, biases)";
  CHECK(scenario(r).model.dropout == Approx(0.1));
  CHECK(scenario(r).parallel.overlap_tensor);
  r.sharding = "ZeRO-1 (Megatron-DeepSpeed)";
  CHECK_FALSE(scenario(r).parallel.overlap_tensor);
}
