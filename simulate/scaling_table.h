// Times of one and the same job on several numbers of GPUs: how much of it is shared out and how
// much is not, whatever the model.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stepsight {

struct ScalingTime {
  std::int64_t gpus = 0;
  double seconds = 0;  // for the same work
};

// T(N) = constant + divided / N (Amdahl 1967), both at least 0, least squares of the relative
// errors.
struct ScalingLaw {
  double constant = 0;        // s that no number of GPUs shortens
  double divided = 0;         // s on one GPU that N share out
  double worst_error = 0;     // of |law / measured - 1|
  double constant_share = 0;  // of the time on the largest number of GPUs
  double most_speedup = 0;    // over one GPU, of any number of GPUs; 0: without limit
  bool grows = false;  // the largest number takes longer than a smaller one: something grows with N
};

// At least two different numbers of GPUs, times above 0.
ScalingLaw scaling_law(std::span<const ScalingTime> times);

// "97 % of the time on 8 GPUs is not shared out: ...", for people.
std::string describe(const ScalingLaw& law, std::int64_t most_gpus);

}  // namespace stepsight
