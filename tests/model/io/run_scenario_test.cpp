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

TEST_CASE("what is not simulated is refused with its reason") {
  using R = MeasuredRun;
  CHECK(refusal([](R&) {}) == "");
  CHECK(refusal([](R& r) { r.complete = "no: batch"; }) == "incomplete");
  CHECK(refusal([](R& r) { r.std_gpu.clear(); }) == "GPU not stated");
  for (const char* family : {"txl", "moe", "t5", "vit"}) {
    CHECK(refusal([&](R& r) { r.std_family = family; }) == std::string("family ") + family);
  }
  CHECK(refusal([](R& r) { r.std_family.clear(); }) == "family not stated");
  CHECK(refusal([](R& r) { r.tp = 2; }) == "tensor parallel");
  CHECK(refusal([](R& r) { r.pp = 2; }) == "pipeline parallel");
  CHECK(refusal([](R& r) { r.cp = 2; }) == "context parallel");
  CHECK(refusal([](R& r) { r.ep = 2; }) == "expert parallel");
  CHECK(refusal([](R& r) { r.gpus = r.nodes = 2; }) == "network not stated");
  CHECK(refusal([](R& r) { r.gpus = 3, r.nodes = 2, r.std_inter_gbps_per_node = 100; }) ==
        "uneven nodes");
  for (const char* sharding : {"fsdp", "zero1", "zero3", "hsdp"}) {
    CHECK(refusal([&](R& r) {
            r.gpus = 8;
            r.std_dp = sharding;
          }) == std::string("sharding ") + sharding);
  }
  CHECK(refusal([](R& r) { r.std_offload = "optimizer"; }) == "offload");
  CHECK(refusal([](R& r) { r.std_recompute = "selective"; }) == "recompute selective");
  CHECK(refusal([](R& r) { r.std_compute = "fp8"; }) == "compute fp8");
  CHECK(refusal([](R& r) { r.std_compute = "fp4"; }) == "compute fp4");
  CHECK(refusal([](R& r) { r.gpus = 8; }) == "link not stated");
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
