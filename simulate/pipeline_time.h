// Where the time of a pipelined step goes, stage by stage: derived from a run of
// simulate/pipeline_program.h.
#pragma once
#include <cstdint>
#include <vector>

#include "model/units.h"
#include "simulate/engine.h"
#include "simulate/pipeline_program.h"
#include "simulate/timeline.h"

namespace stepsight {

// The compute stream of one stage from the start of the step to its end; the parts add up to it. A
// stretch in which it stands still is put down to what the next task waits for: first to messages,
// collectives or the host while they run, and what is left, when some other stage had to come
// first, to the bubble.
struct PipelineStageTime {
  Seconds passes;     // forward and backward, as long as they took
  Seconds slow_down;  // of these: beyond full rate, under communication
  Seconds optimizer;
  Seconds messages;     // exposed
  Seconds collectives;  // exposed: gradients, embedding, norm, parameters
  Seconds host;         // waiting for passes to be issued
  Seconds bubble;
};

struct PipelineTime {
  Seconds step;
  std::vector<PipelineStageTime> stages;
  // The stages' bubbles together over the stages' time together. Equal stages without communication
  // have (p - 1) / (m + p - 1) with gpipe and 1f1b, (p - 1) / (v m + p - 1) interleaved.
  double bubble_fraction = 0;
};

PipelineTime pipeline_time(const PipelineProgram& pipeline, const Timeline& timeline);

// Schedules nothing anew: builds, runs and looks at the run.
PipelineTime predict_pipeline(const PipelineOrder& schedule,
                              const PipelineCosts& costs,
                              const Machine& machine = {});

}  // namespace stepsight
