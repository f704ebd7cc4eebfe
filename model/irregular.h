// What keeps a step from being as regular as the simulated one: ranks that are not equal, data that
// comes too slowly, and pauses between steps. All of it as a person would measure it.
#pragma once
#include <cstdint>
#include <string>

namespace stepsight {

struct Irregular {
  // Of ranks that compute together; all wait for the slowest at the end of a step.
  double slow_factor = 1;     // compute time of one rank over the others' (a hot or older card)
  std::string slowest_gpu{};  // another kind of card among them, by its profile's name; a reader
                              // turns it into slow_factor (simulate/irregular_step.h)
  double batch_imbalance = 1;  // work of the rank that got most over the mean rank's
  double jitter = 0;           // standard deviation of each rank's compute time from step to step,
                               // as a share of it

  // The data loader works ahead while the GPU computes; 0: it keeps up with anything.
  std::int64_t loader_workers = 0;  // of each GPU
  double worker_samples_per_s = 0;  // of one worker
  double node_samples_per_s = 0;    // the most that one machine delivers to all its GPUs

  // Evaluation, logging, samples: every `stall_steps` steps all ranks stand still for `stall_s`.
  double stall_s = 0;
  std::int64_t stall_steps = 0;

  [[nodiscard]] bool unequal_ranks() const {
    return slow_factor > 1 || batch_imbalance > 1 || jitter > 0;
  }
  [[nodiscard]] bool any() const {
    return unequal_ranks() || loader_workers > 0 || node_samples_per_s > 0 || stall_s > 0;
  }
};

}  // namespace stepsight
