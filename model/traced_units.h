// The layers of a traced step, as far as its gradients show them: what FSDP would gather and
// scatter together.
#pragma once
#include <cstdint>
#include <vector>

#include "model/traced_step.h"

namespace stepsight {

// A stretch of parameters that are gathered together, with the places of its kernels.
struct TracedUnit {
  std::int64_t elements = 0;
  std::uint32_t forward_begin = 0;   // its first kernel of forward
  std::uint32_t backward_begin = 0;  // its first kernel of backward
  std::uint32_t backward_end = 0;    // one past the kernel that completed its last gradient
};

struct TracedUnits {
  std::vector<TracedUnit> units;   // in the order of backward
  std::int64_t root_elements = 0;  // parameters of no unit: embedding and head
  bool forward_known = true;       // false: forward's places mirror those of backward
};

// A model is a stack of equal layers when a run of gradients, in the order in which they are ready,
// repeats the sizes before it. The repetition that covers most parameters, at least half of them,
// gives the layers, `layers` of them to a unit; what is left over is the root. No units where
// nothing repeats.
TracedUnits traced_units(const TracedStep& step, std::int64_t layers);

}  // namespace stepsight
