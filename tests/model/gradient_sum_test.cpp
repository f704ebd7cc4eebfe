// Products that add their result to the sum of a weight's gradient.
#include "model/gradient_sum.h"

#include "model/io/builtin.h"
#include "model/io/profile_file.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

Gemm weight_gradient(std::int64_t out,
                     std::int64_t in,
                     std::int64_t tokens,
                     std::int64_t experts = 1) {
  return {out, in, tokens, experts, Dtype::bf16, Layout::NT};
}

double seconds(const Gemm& gemm, double sum_bytes, const GpuProfile& gpu) {
  return cost_with_sum(cost(gemm, gpu), gemm, sum_bytes, gpu).time.value;
}

}  // namespace

// SimuMax, configs/system/b200_bf16_ceperm.json: efficiency with sums in 16 bits over that with
// sums in 32, both adding. The dense product is at the power limit there, which takes a part of its
// own.
TEST_CASE("a sum in fp32 lengthens experts' products as it does on a B200") {
  const GpuProfile gpu = read_profile("b200-sxm");
  struct Row {
    Gemm gemm;
    double measured;
  };
  for (const auto& [gemm, measured] :
       {Row{weight_gradient(4096, 7168, 512, 64), 0.28907 / 0.21917},
        Row{weight_gradient(7168, 2048, 512, 64), 0.28438 / 0.21450},
        Row{weight_gradient(4096, 7168, 1024, 32), 0.34694 / 0.28881},
        Row{weight_gradient(3072, 5120, 1232, 20), 0.38486 / 0.32760}}) {
    INFO(gemm.m << " x " << gemm.n << " of " << gemm.k << " tokens, " << gemm.batch << " experts");
    CHECK(seconds(gemm, 4, gpu) / seconds(gemm, 2, gpu) == Approx(measured).epsilon(0.2));
  }
  const Gemm dense = weight_gradient(57344, 8192, 4096);
  CHECK(seconds(dense, 4, gpu) / seconds(dense, 2, gpu) < 0.48247 / 0.45358);
}

TEST_CASE(
    "a product that adds to a sum is never faster, and as slow as the sum's traffic at least") {
  for (const char* name : {"a100-sxm-80", "h200-sxm", "b200-sxm"}) {
    const GpuProfile gpu = read_profile(name);
    const double bytes_per_s =
        gpu.gemm[static_cast<std::size_t>(Dtype::bf16)].bandwidth_TBps * 1e12;
    for (const std::int64_t tokens : {16, 128, 512, 2048, 8192, 65536}) {
      INFO(name << ", " << tokens << " tokens");
      const Gemm gemm = weight_gradient(4096, 4096, tokens);
      const double alone = cost(gemm, gpu).time.value;
      CHECK(seconds(gemm, 2, gpu) >= alone);
      CHECK(seconds(gemm, 4, gpu) >= seconds(gemm, 2, gpu));
      CHECK(seconds(gemm, 4, gpu) >= 2 * 4096.0 * 4096 * 4 / bytes_per_s);
    }
    // Few tokens: the memory sets the pace, whatever the clock. Many: nothing is seen of the sum.
    const Gemm few = weight_gradient(4096, 4096, 16);
    CHECK_FALSE(cost_with_sum(cost(few, gpu), few, 4, gpu).clocked);
    const Gemm many = weight_gradient(4096, 4096, 65536);
    CHECK(cost_with_sum(cost(many, gpu), many, 4, gpu).clocked);
    CHECK(seconds(many, 4, gpu) == Approx(cost(many, gpu).time.value).epsilon(0.001));
  }
  CHECK(sum_traffic(weight_gradient(1000, 1000, 512), 4) == 6e6);
}
