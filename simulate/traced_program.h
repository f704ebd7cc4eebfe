// A traced step with data parallelism laid over it, as a program for the engine: the same host,
// compute and communication lanes as a step that was built from a model (simulate/step_program.h).
#pragma once
#include "model/traced_step.h"
#include "simulate/step_program.h"
#include "simulate/traced_costs.h"

namespace stepsight {

// Everything that a traced step is built from. All outlives what is built.
struct TracedParts {
  const TracedStep& step;
  const TracedCosts& costs;  // of `step`
  const Scenario& scenario;
  const GpuProfile& gpu;
  const Link& link;
};

// Every kernel in the order of the trace, no earlier than it was issued and one stream gap
// (LaunchParameters) after the one before; gradients are copied into DDP's buckets as they get
// ready, and what was issued after the last backward waits for the last bucket. Of the scenario,
// `parallel` and training.gradient_dtype are used. Precondition: every gradient has its elements.
StepProgram build_traced_step(const TracedParts& parts,
                              const Without& without = {},
                              int repeats = 2);

}  // namespace stepsight
