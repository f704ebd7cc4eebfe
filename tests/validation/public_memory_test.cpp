// Peak memory of public runs in Megatron-LM on 8 B200, split over tensor, context and pipeline
// ranks, against the walk: MooreThreads/SimuMax, docs/b200/b200_release_v1.2_summary.json, "real"
// peak of allocated memory. Llama-3 70B and 405B cut to a few layers, sequence parallelism,
// distributed optimizer, fp32 gradients beside bf16 parameters, fused SwiGLU, norm and loss, no
// recomputation.
#include <array>
#include <cmath>

#include "model/io/profile_file.h"
#include "simulate/memory.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

struct PublicRun {
  const char* id;
  std::int64_t layers, hidden, heads, kv_heads, ffn;
  std::int64_t seq;
  std::int64_t tensor, context, pipeline;
  double measured_GiB;
};

constexpr std::array<PublicRun, 8> runs{{
    {"SI1550", 12, 8192, 64, 8, 28672, 4096, 1, 1, 2, 66.55},
    {"SI1551", 12, 8192, 64, 8, 28672, 4096, 2, 1, 1, 60.68},
    {"SI1553", 12, 8192, 64, 8, 28672, 4096, 8, 1, 1, 28.29},
    {"SI1576", 4, 16384, 128, 16, 53248, 4096, 4, 1, 1, 52.89},
    {"SI1586", 12, 8192, 64, 8, 28672, 32768, 2, 4, 1, 68.43},
    {"SI1587", 12, 8192, 64, 8, 28672, 32768, 1, 8, 1, 104.51},
    {"SI1590", 12, 8192, 64, 8, 28672, 131072, 2, 4, 1, 112.67},
    {"SI1591", 12, 8192, 64, 8, 28672, 131072, 1, 8, 1, 147.99},
}};

Memory predicted(const PublicRun& run) {
  static const GpuProfile gpu = read_profile("b200-sxm");
  Scenario s;
  ModelShape& m = s.model;
  m.family = Family::llama;
  m.layers = run.layers;
  m.hidden = run.hidden;
  m.heads = run.heads;
  m.kv_heads = run.kv_heads;
  m.head_dim = run.hidden / run.heads;
  m.ffn = run.ffn;
  m.vocab = 128256;
  m.max_seq = run.seq;
  m.gated_ffn = m.rms_norm = m.rotary = m.fused_qkv = m.fused_gate_up = true;
  s.training.seq = run.seq;
  s.training.accumulation = 4;
  s.training.precision = {Dtype::bf16, false, true};
  s.training.gradient_dtype = Dtype::fp32;
  s.training.compile = true;  // the same kernels are fused
  s.cluster.gpu = "b200-sxm";
  s.cluster.gpus = 8;
  s.parallel.strategy = Strategy::zero1;
  s.parallel.tensor = run.tensor;
  s.parallel.sequence = run.tensor > 1;
  s.parallel.context = run.context;
  s.parallel.pipeline = run.pipeline;
  return memory_of(step_work(s), s, gpu, false);
}

}  // namespace

TEST_CASE("peak memory of public Megatron-LM runs is predicted within 10 %") {
  for (const PublicRun& run : runs) {
    const double peak = predicted(run).peak / (1024.0 * 1024.0 * 1024.0);
    INFO(run.id << ": " << peak << " GiB predicted, " << run.measured_GiB << " measured");
    CHECK(std::abs(peak / run.measured_GiB - 1) <= 0.10);
  }
}
