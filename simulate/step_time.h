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

}  // namespace stepsight
