#include "model/gradient_sum.h"

#include <algorithm>
#include <cmath>

#include "model/profile.h"

namespace stepsight {

namespace {

double elements(const Gemm& gemm) {
  return static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
         static_cast<double>(gemm.batch);
}

double cube(double x) {
  return x * x * x;
}

}  // namespace

double sum_traffic(const Gemm& gemm, double sum_bytes) {
  return 2 * elements(gemm) * sum_bytes - result_bytes(gemm).value;
}

Cost cost_with_sum(const Cost& alone, const Gemm& gemm, double sum_bytes, const GpuProfile& gpu) {
  const GemmParameters<double>& p = gpu.gemm[static_cast<std::size_t>(gemm.dtype)];
  const double bytes_per_s = p.bandwidth_TBps * 1e12;
  const double written = result_bytes(gemm).value;
  const double factors = bytes(gemm).value - written;
  const double memory = (factors + p.write_cost * written) / bytes_per_s;
  const double with_sum = memory + sum_traffic(gemm, sum_bytes) / bytes_per_s;
  const double start = std::min(p.overhead_us * 1e-6, alone.time.value);
  // smooth_max_of_product() undone; a measured product may be faster than the formula's memory.
  const double arithmetic = std::max(0.0, cube(alone.time.value - start) - cube(memory));
  const double busy = std::cbrt(arithmetic + cube(with_sum));
  return {Seconds{std::max(alone.time.value, start + busy)},
          alone.measured,
          alone.clocked && arithmetic > cube(with_sum)};
}

}  // namespace stepsight
