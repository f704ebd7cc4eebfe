// Pipelines for tests: stages and chunks of the same plain numbers.
#pragma once
#include "simulate/pipeline_time.h"

namespace stepsight {

// Forward, gradient of the input and gradient of the weights of every chunk, in seconds.
inline PipelineCosts equal_stages(const PipelineShape& shape, double f, double b, double w) {
  PipelineChunkCosts chunk;
  chunk.forward = Seconds{f};
  chunk.input_gradient = Seconds{b};
  chunk.weight_gradient = Seconds{w};
  PipelineStageCosts stage;
  stage.chunks.assign(static_cast<std::size_t>(shape.chunks), chunk);
  PipelineCosts costs;
  costs.stages.assign(static_cast<std::size_t>(shape.stages), stage);
  costs.messages = PipelineMessages::overlapped;
  return costs;
}

inline void set_messages(PipelineCosts& costs, double seconds) {
  for (PipelineStageCosts& stage : costs.stages) {
    stage.activations = {Bytes{1e6}, Seconds{seconds}};
    stage.gradients = {Bytes{2e6}, Seconds{seconds}};
  }
}

inline PipelineTime predicted(const PipelineShape& shape,
                              const PipelineCosts& costs,
                              const Machine& machine = {}) {
  return predict_pipeline(order_passes(shape), costs, machine);
}

}  // namespace stepsight
