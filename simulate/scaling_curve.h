// A scenario on other GPU counts: what a scaling curve is drawn through.
#pragma once
#include <vector>

#include "simulate/study.h"

namespace stepsight {

// The scenario on 1, 2, 4, ... GPUs up to its own and on its own, rising, all else kept: the machines as
// full as they are now, the batch of each GPU kept, or the global batch where the scenario fixes that.
// Counts that its splits, its batch or its link do not allow are left out. The points of a study.
std::vector<StudyPoint> scaling_curve(const Scenario& scenario,
                                      const GpuProfile& gpu,
                                      const ModelError& error);

}  // namespace stepsight
