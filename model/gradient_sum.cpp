#include "model/gradient_sum.h"

#include "model/profile.h"

namespace stepsight {

namespace {

double elements(const Gemm& gemm) {
  return static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
         static_cast<double>(gemm.batch);
}

}  // namespace

double sum_traffic(const Gemm& gemm, double sum_bytes) {
  return 2 * elements(gemm) * sum_bytes - result_bytes(gemm).value;
}

Cost cost_with_sum(const Cost& alone, const Gemm& gemm, double sum_bytes, const GpuProfile& gpu) {
  const GemmParameters<double>& p = gpu.gemm[static_cast<std::size_t>(gemm.dtype)];
  const Seconds traffic{sum_traffic(gemm, sum_bytes) / (p.bandwidth_TBps * 1e12)};
  return {alone.time + traffic, alone.measured, alone.clocked && traffic.value < alone.time.value};
}

}  // namespace stepsight
