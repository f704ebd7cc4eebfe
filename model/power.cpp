#include "model/power.h"

#include <algorithm>

#include "model/profile.h"

namespace stepsight {

namespace {

constexpr double lowest_clock = 0.3;  // below it lie faults, not the power limit

double power_at(double clock, const StepEnergy& step, const GpuProfile& gpu) {
  const double seconds =
      std::max(step.clocked_s / clock + step.other_s, std::max(step.least_s, 1e-9));
  return power_formula(step.flop / seconds, step.bytes / seconds, clock, gpu.power);
}

}  // namespace

double energy_of_flop(const GpuProfile& gpu, Dtype dtype) {
  const double own = gpu.vendor_TFLOPS[static_cast<std::size_t>(dtype)];
  const double bf16 = gpu.vendor_TFLOPS[static_cast<std::size_t>(Dtype::bf16)];
  return own > 0 && bf16 > 0 ? bf16 / own : 1;
}

double clock_under_limit(const StepEnergy& step, const GpuProfile& gpu) {
  if (gpu.power_W <= 0 || power_at(1, step, gpu) <= gpu.power_W) return 1;
  double low = lowest_clock;
  double high = 1;
  // Power grows with the clock; forty halvings are below the last bit that matters.
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (power_at(middle, step, gpu) <= gpu.power_W ? low : high) = middle;
  }
  return low;
}

}  // namespace stepsight
