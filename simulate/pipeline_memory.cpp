#include "simulate/pipeline_memory.h"

#include <stdexcept>

namespace stepsight {

PipelineActivations peak_activations(const PipelineOrder& schedule,
                                     std::int64_t stage,
                                     std::span<const PipelineChunkActivations> chunks) {
  if (static_cast<std::int64_t>(chunks.size()) != schedule.shape.chunks) {
    throw std::logic_error("activations must be given for each chunk of the schedule");
  }
  PipelineActivations out;
  std::uint32_t at = 0;
  const auto reach = [&](Bytes bytes) {
    if (bytes <= out.peak) return;
    out.peak = bytes;
    out.at = at;
  };
  Bytes& alive = out.left;
  for (const PipelineOp& op : schedule.of(stage)) {
    const PipelineChunkActivations& chunk = chunks[op.chunk];
    switch (op.pass) {
      case PipelinePass::forward:
        alive += chunk.kept;
        reach(alive + chunk.forward_working);
        break;
      case PipelinePass::backward:
        reach(alive + chunk.backward_working);
        alive -= chunk.kept;
        break;
      case PipelinePass::input_gradient:
        reach(alive + chunk.backward_working);
        alive += chunk.kept_for_weights - chunk.kept;
        reach(alive);
        break;
      case PipelinePass::weight_gradient:
        reach(alive + chunk.backward_working);
        alive -= chunk.kept_for_weights;
        break;
    }
    ++at;
  }
  return out;
}

}  // namespace stepsight
