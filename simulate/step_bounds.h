// What a step takes at the least, and what a card must hold at the least: bounds that are proven,
// so that a search may leave out what they rule out.
//
// Time. On the engine a lane runs one task at a time and no rate exceeds 1, so a step is at least
// the work of each lane: kernels, gradients' messages; and where compute stops for a message,
// kernels and those messages together. (Not the host's: it issues ahead of the step before.) With
// pipeline stages, stage s cannot begin before the first micro-batch has passed the stages before
// it, and those stages still owe their backward when it is done: with F and B a pass of chunk 0 and
// w all passes of a micro-batch in all chunks,
//   step >= max over s of (sum of F_j for j < s) + m w_s + (sum of B_j for j < s)
// and the update comes after it wherever all stages wait for the gradients' norm.
// Before anything is priced: FLOP over the vendor's peak.
//
// Memory. The states of the fullest card are at least those of the average one.
#pragma once
#include "model/profile.h"
#include "model/scenario.h"
#include "simulate/pipeline_program.h"
#include "simulate/pipeline_schedule.h"
#include "simulate/timed_step.h"

namespace stepsight {

// Of a step without pipeline stages.
Seconds least_step(const StepParts& parts, const TimedStep& timed);
// Of one with them.
Seconds least_step(const PipelineShape& shape, const PipelineCosts& costs);

// `model_flops`: of all sequences of the step, forward and backward; 0 where the vendor says no
// peak.
Seconds least_step(double model_flops, const Scenario& scenario, const GpuProfile& gpu);

// Bytes of parameters and optimizer states, and of gradients that stay between micro-steps, on the
// fullest card. `parameters`: of the whole model.
double least_memory(const Scenario& scenario, std::int64_t parameters);

}  // namespace stepsight
