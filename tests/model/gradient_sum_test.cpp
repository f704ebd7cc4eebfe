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

// SimuMax, configs/system/b200_bf16_ceperm.json: shares of 2250 TFLOP/s with sums in 16 and in 32
// bits, both adding; products that end before the power limit acts, experts' one after the other.
TEST_CASE("a sum in fp32 lengthens products as it does on a B200") {
  const GpuProfile gpu = read_profile("b200-sxm");
  struct Row {
    Gemm gemm;
    double narrow, wide;
  };
  double all = 0;
  double all_measured = 0;
  for (const auto& [gemm, narrow, wide] :
       {Row{weight_gradient(4096, 7168, 512, 64), 0.28907, 0.21917},
        Row{weight_gradient(7168, 2048, 512, 64), 0.28438, 0.21450},
        Row{weight_gradient(4096, 7168, 1024, 32), 0.34694, 0.28881},
        Row{weight_gradient(3072, 5120, 1232, 20), 0.38486, 0.32760},
        Row{weight_gradient(8192, 3584, 4096), 0.43559, 0.40437},
        Row{weight_gradient(8192, 4096, 4096), 0.62941, 0.57029},
        Row{weight_gradient(2560, 8192, 4096), 0.62576, 0.56177},
        Row{weight_gradient(8192, 2048, 4096), 0.61538, 0.51589},
        Row{weight_gradient(8192, 1024, 4096), 0.61059, 0.58377},
        Row{weight_gradient(1280, 8192, 4096), 0.55495, 0.52152}}) {
    INFO(gemm.m << " x " << gemm.n << " of " << gemm.k << " tokens, " << gemm.batch << " experts");
    const double measured = flops(gemm).value / 2250e12 * (1 / wide - 1 / narrow);
    const double longer = seconds(gemm, 4, gpu) - seconds(gemm, 2, gpu);
    CHECK(longer > measured / 2.3);
    CHECK(longer < measured * 2.3);
    all += longer / static_cast<double>(gemm.batch);
    all_measured += measured / static_cast<double>(gemm.batch);
  }
  CHECK(all == Approx(all_measured).epsilon(0.15));
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
    // Few tokens: the memory sets the pace, whatever the clock. Many: little is seen of the sum.
    const Gemm few = weight_gradient(4096, 4096, 16);
    CHECK_FALSE(cost_with_sum(cost(few, gpu), few, 4, gpu).clocked);
    const Gemm many = weight_gradient(4096, 4096, 65536);
    CHECK(cost_with_sum(cost(many, gpu), many, 4, gpu).clocked);
    CHECK(seconds(many, 4, gpu) < 1.02 * cost(many, gpu).time.value);
  }
  CHECK(sum_traffic(weight_gradient(1000, 1000, 512), 4) == 6e6);
}
