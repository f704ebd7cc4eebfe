// Which products a profile is fitted to.
#pragma once
#include "model/measurements.h"

namespace stepsight {

// A profile speaks of the highest clock; what the power limit takes off it is the simulator's to
// say. So products that were timed at a lowered clock, or while nobody looked, are left out where
// more than half of those of their format are known to have run at the highest; `skipped` says how
// many.
void keep_full_clock(Measurements& m);

}  // namespace stepsight
