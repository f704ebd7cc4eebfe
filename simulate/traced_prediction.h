// The answer for a traced step: what `predict` says of a scenario, as far as a trace can tell.
#pragma once
#include "model/traced_step.h"
#include "simulate/predict.h"
#include "simulate/study.h"
#include "simulate/traced_costs.h"

namespace stepsight {

// Of the prediction, what needs an architecture is left at zero: tokens_per_s, mfu and memory; and
// samples_per_s, which needs the batch. Scaling is weak, the batch of each GPU kept: a trace stands
// for no other.
struct TracedPoint {
  StudyPoint point;
  TracedCosts costs;
  double traced_host_s = 0;  // the host's issue time of a step under the profiler
};

// `traced_on`: the profile of the card that the trace is of; null: it is `gpu`. Precondition: every
// gradient has its elements. UserError for a link that is not known.
TracedPoint predict_traced(const TracedStep& step,
                           const Scenario& scenario,
                           const GpuProfile& gpu,
                           const GpuProfile* traced_on = nullptr);

}  // namespace stepsight
