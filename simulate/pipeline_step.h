// A step whose blocks are dealt out to pipeline stages: what each chunk's passes take comes from
// the same priced operators as a step without stages (simulate/timed_step.h), who waits for whom
// from simulate/pipeline_program.h.
#pragma once
#include "simulate/engine.h"
#include "simulate/pipeline_program.h"
#include "simulate/timed_step.h"

namespace stepsight {

struct StagesTime {
  Seconds step;
  Seconds busy;      // computing, of the stage that computes longest
  Seconds messages;  // of the stage whose messages and collectives take longest
};

// The costs of every stage and chunk; `timed` is time_step(parts, without). Blocks are spread
// evenly, the first chunks one more; the embedding stands on the first stage, the head and the loss
// on the last.
PipelineCosts pipeline_costs(const StepParts& parts,
                             const TimedStep& timed,
                             const Without& without = {});

// UserError for schedules that cannot be (check_pipeline). Precondition: parallel.pipeline > 1.
// The host stands in it where it may delay the step; with HostLane::always everywhere, to be looked
// at.
PipelineProgram build_stages(const StepParts& parts,
                             const TimedStep& timed,
                             const Without& without = {},
                             HostLane host = HostLane::where_it_binds);

StagesTime run_stages(const PipelineProgram& program, const Machine& machine);

}  // namespace stepsight
