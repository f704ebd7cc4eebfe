// A scenario on other GPU counts: what a scaling curve is drawn through.
#pragma once
#include <vector>

#include "simulate/study.h"

namespace stepsight {

// The scenario on 1, 2, 4, ... GPUs up to its own and on its own, rising, all else kept: the
// machines as full as they are now, the batch of each GPU kept, or the global batch where the
// scenario fixes that. Counts that its splits, its batch or its link do not allow are left out. The
// points of a study.
std::vector<StudyPoint> scaling_curve(const Scenario& scenario,
                                      const GpuProfile& gpu,
                                      const ModelError& error);

// The scenario on twice and four times its GPUs, all else kept: what the next cards would bring.
// One machine grows to eight cards, then there are more of them. Counts that the link does not
// join, or that the batch or the splits do not allow, are left out.
std::vector<StudyPoint> larger_counts(const Scenario& scenario,
                                      const GpuProfile& gpu,
                                      const ModelError& error);

}  // namespace stepsight
