#include "model/attention_kernel.h"

#include <stdexcept>

#include "model/cost.h"
#include "model/io/profile_file.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

// Long enough that neither start nor ramp shows.
Attention long_attention(AttentionKernel kernel, bool backward) {
  return {4, 16, 16, 131072, 128, true, backward, false, Dtype::bf16, kernel};
}

double share_of_peak(const GpuProfile& gpu, AttentionKernel kernel, bool backward) {
  const Attention a = long_attention(kernel, backward);
  return flops(a).value / cost(a, gpu).time.value /
         (gpu.vendor_TFLOPS[static_cast<std::size_t>(Dtype::bf16)] * 1e12);
}

}  // namespace

TEST_CASE("the first FlashAttention reaches what its successor's paper says of it on an A100") {
  const GpuProfile gpu = read_profile("a100-sxm-80");
  const double forward = share_of_peak(gpu, AttentionKernel::flash1, false);
  const double backward = share_of_peak(gpu, AttentionKernel::flash1, true);
  CHECK(forward > 0.30);
  CHECK(forward < 0.50);
  CHECK(backward > 0.25);
  CHECK(backward < 0.35);
}

TEST_CASE("the second FlashAttention has 35 % of an H100, the third up to 75 %") {
  const GpuProfile gpu = read_profile("h100-sxm");
  CHECK(share_of_peak(gpu, AttentionKernel::flash2, false) == Approx(0.35).epsilon(0.01));
  const double third = share_of_peak(gpu, AttentionKernel::flash3, false);
  CHECK(third > 0.5);
  CHECK(third < 0.75);
}

TEST_CASE("each generation of FlashAttention is faster than the one before") {
  for (const char* name : {"a100-sxm-80", "h100-sxm", "v100-sxm", "b200-sxm"}) {
    const GpuProfile gpu = read_profile(name);
    for (const bool backward : {false, true}) {
      const auto time = [&](AttentionKernel k) {
        return cost(long_attention(k, backward), gpu).time.value;
      };
      INFO(name << (backward ? " backward" : " forward"));
      CHECK(time(AttentionKernel::flash2) < time(AttentionKernel::flash1));
      CHECK(time(AttentionKernel::flash3) <= time(AttentionKernel::flash2) * 1.1);
    }
  }
}

TEST_CASE("a profile's own attention is no generation") {
  CHECK_THROWS_AS(attention_utilisation(AttentionKernel::usual, false, false), std::logic_error);
}
