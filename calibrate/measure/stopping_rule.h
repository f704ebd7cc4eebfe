// When to stop repeating a measurement: a policy that is fed numbers and knows nothing of a GPU.
#pragma once
#include <cstdint>
#include <span>

namespace stepsight::calibrate {

struct StoppingRule {
  std::int64_t min_samples = 5;    // fewer say nothing about the spread
  std::int64_t max_samples = 40;   // a noisy point is written down as noisy, not repeated forever
  double target_spread = 0.005;    // standard error of the median, as a fraction of it
  double budget_s = 0.08;          // for one point, warm-up not counted
  std::int64_t least_samples = 3;  // what a point that overruns its budget still gets
};

enum class StopReason { keep_going, spread_reached, samples_exhausted, budget_exhausted };

// Whether `samples` (any unit), taken within `elapsed_s`, suffice. The budget is checked first, so
// that one slow kernel cannot eat the time of the hundred points after it.
StopReason judge(const StoppingRule& rule, std::span<const double> samples, double elapsed_s);

}  // namespace stepsight::calibrate
