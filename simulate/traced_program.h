// A traced step with data parallelism laid over it, as a program for the engine: the same host,
// compute and communication lanes as a step that was built from a model (simulate/step_program.h).
#pragma once
#include "simulate/step_program.h"
#include "simulate/timed_trace.h"

namespace stepsight {

// Every kernel in the order of the trace, no earlier than it was issued and one stream gap
// (LaunchParameters) after the one before; gradients are copied into DDP's buckets as they get
// ready, and what was issued after the last backward waits for the last bucket. With Strategy::fsdp
// or zero3 the parameters of each unit (model/traced_units.h) are gathered before its kernels of
// forward and again of backward, in the format of their gradients, and its gradients scattered
// after, as simulate/step_program.h does; a rank's update is its share of the traced one. Of the
// scenario, `cluster`, `parallel` and training.gradient_dtype are used. Precondition: every
// gradient has its elements; UserError where FSDP meets several micro-steps.
StepProgram build_traced_step(const TracedParts& parts,
                              const Without& without = {},
                              int repeats = 2);

}  // namespace stepsight
