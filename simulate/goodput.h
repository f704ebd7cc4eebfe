// What failures and checkpoints leave of the time that a run is paid for.
#pragma once
#include <cstdint>

#include "model/prices.h"

namespace stepsight {

struct Goodput {
  double share = 1;       // of the wall clock that ends up as kept training steps
  double interval_s = 0;  // of training between two checkpoints; 0: none are needed
  double mtbf_s = 0;      // of the whole cluster; 0: nothing fails
};

// Failures come at random, at 1 / gpu_mtbf for each of the GPUs. Training T, saving C, restarting R
// and a mean time M between failures of the cluster take
//   E = M exp(R / M) (exp((T + C) / M) - 1)
// of wall clock for each T kept (Daly 2006, A higher order estimate of the optimum checkpoint
// interval, eq. 20), for which the best T is searched where none is given. Without failures only
// the checkpoints that somebody asks for count.
Goodput goodput(const RunLength& run, std::int64_t gpus);

}  // namespace stepsight
