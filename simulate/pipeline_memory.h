// How many bytes of activations one GPU of a pipeline stage holds at its fullest moment: pure
// counting along the stage's passes. Parameters, gradients and optimizer states do not depend on
// the schedule and are counted elsewhere.
#pragma once
#include <cstdint>
#include <span>

#include "model/units.h"
#include "simulate/pipeline_schedule.h"

namespace stepsight {

// Of one micro-batch in one model chunk, on one GPU.
struct PipelineChunkActivations {
  Bytes kept;  // from forward until backward, or the gradient of the input, has run
  // zero-bubble only: from then until the gradient of the weights has run. The inputs of linear
  // layers and the gradients of their outputs; everything else of `kept` is free by then.
  Bytes kept_for_weights;
  Bytes forward_working;   // beside `kept`, only while forward runs
  Bytes backward_working;  // beside `kept`, only while backward or either half of it runs: what is
                           // computed again for it, gradients on their way, the loss's tensors
};

struct PipelineActivations {
  Bytes peak;
  std::uint32_t at = 0;  // the pass of the stage's list during which, or after which, it occurs
  Bytes left;            // after the last pass: zero, to the rounding of the sums
};

// `chunks`: one entry a model chunk of the stage; std::logic_error when the count differs.
PipelineActivations peak_activations(const PipelineOrder& schedule,
                                     std::int64_t stage,
                                     std::span<const PipelineChunkActivations> chunks);

}  // namespace stepsight
