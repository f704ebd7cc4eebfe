// The same step as simulate/step_program.h runs, without building its program: for sweeps and
// searches, which ask for thousands of steps a second.
//
// It walks the priced step in the order in which the program's tasks are added and keeps the clocks
// of host, compute stream and the stream of gradients. That is enough where nothing that is issued
// later can start before what was issued earlier has ended: gradients travel once the copy before
// them is done, and compute waits for every other message. Rates and rounding are the engine's
// (simulate/engine.h), so the answer is the engine's to the picosecond; a test holds the two
// together.
#pragma once
#include <optional>

#include "simulate/engine.h"
#include "simulate/timed_step.h"

namespace stepsight {

// Of the second of two steps in a row.
struct QuickStep {
  Picoseconds step = 0;
  Picoseconds communication = 0;  // some message runs
  Picoseconds exposed = 0;        // some message runs and no kernel
  Picoseconds busy = 0;           // some kernel runs
};

// Nothing for steps that it cannot follow: parameters that are gathered ahead of compute (zero3,
// fsdp), messages beside kernels that do not need them, pipelines, states or activations in host
// memory.
std::optional<QuickStep> quick_step(const StepParts& parts,
                                    const TimedStep& timed,
                                    const Machine& machine);

}  // namespace stepsight
