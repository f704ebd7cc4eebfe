// The timeline of a step in pipeline stages: simulate/step_trace.h for simulate/pipeline_program.h.
#pragma once
#include "simulate/step_trace.h"
#include "simulate/timed_step.h"

namespace stepsight {

// A process a stage. Precondition: parallel.pipeline > 1.
StepTrace trace_stages(const StepParts& parts, const TimedStep& timed, std::size_t most_slices);

}  // namespace stepsight
