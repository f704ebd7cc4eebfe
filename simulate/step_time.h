// The length of a step whose parts are all priced: what a prediction and what-ifs about its inputs
// share.
#pragma once
#include "simulate/timed_step.h"

namespace stepsight {

struct StepTime {
  Seconds step;
  StepTotals totals;  // over all pipeline stages
};
// UserError as build_stages().
StepTime step_time(const StepParts& parts);

// Seconds of the simulated step in which the GPU has nothing to compute while it communicates, as
// Prediction::exposed_s; of pipeline stages what messages make the step longer by at full rate.
double exposed_time(const StepParts& parts);

}  // namespace stepsight
