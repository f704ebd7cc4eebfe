#include "calibrate/measure/stopping_rule.h"

#include "calibrate/measure/statistics.h"

namespace stepsight::calibrate {

StopReason judge(const StoppingRule& rule, std::span<const double> samples, double elapsed_s) {
  const auto n = static_cast<std::int64_t>(samples.size());
  if (n >= rule.least_samples && elapsed_s >= rule.budget_s) return StopReason::budget_exhausted;
  if (n >= rule.max_samples) return StopReason::samples_exhausted;
  if (n < rule.min_samples || n == 0) return StopReason::keep_going;
  if (relative_spread(summarize(samples)) <= rule.target_spread) return StopReason::spread_reached;
  return StopReason::keep_going;
}

}  // namespace stepsight::calibrate
