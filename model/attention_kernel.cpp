#include "model/attention_kernel.h"

#include <algorithm>
#include <stdexcept>

#include "model/profile.h"

namespace stepsight {

namespace {

struct Utilisation {
  double forward, backward;
};

double narrow_rate(const GpuProfile& gpu) {
  const auto of = [&](Dtype type) { return gpu.vendor_TFLOPS[static_cast<std::size_t>(type)]; };
  return std::max({of(Dtype::bf16), of(Dtype::fp16), of(Dtype::fp32)});
}

}  // namespace

double attention_utilisation(AttentionKernel kernel, bool backward, bool wide) {
  const auto of = [&](Utilisation u) { return backward ? u.backward : u.forward; };
  switch (kernel) {
    case AttentionKernel::flash1:
      return wide ? of({0.175, 0.15}) : of({0.40, 0.30});
    case AttentionKernel::flash2:
      return wide ? of({0.35, 0.30}) : of({0.61, 0.53});
    case AttentionKernel::flash3:
      return of({0.63, 0.49});
    case AttentionKernel::usual:
      break;
  }
  throw std::logic_error("attention_utilisation: the profile's own kernels have a fit");
}

Seconds generation_time(const Attention& a, const GpuProfile& gpu) {
  const AttentionParameters<double>& own = gpu.attention[a.backward ? 1 : 0];
  const double peak = narrow_rate(gpu) * 1e12;
  const double seq = static_cast<double>(a.seq);
  const double rate =
      peak * attention_utilisation(a.kernel, a.backward, multiprocessors_of(gpu).warp_groups) *
      seq / (seq + own.seq_half);
  const double busy = flops(a).value / rate * (a.dropout ? own.dropout_slowdown : 1);
  return Seconds{own.overhead_us * 1e-6 + busy};
}

}  // namespace stepsight
