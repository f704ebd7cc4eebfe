// Who does what in which order when a model is cut into pipeline stages: for each stage the list of
// forward and backward passes of its model chunks, micro-batch by micro-batch. Pure arithmetic: no
// times, no sizes; simulate/pipeline_program.h puts costs to it.
//
// A stage holds `chunks` model chunks. The model runs through chunk 0 of stage 0, 1, ..., p - 1,
// then through chunk 1 of stage 0 and so on.
//
//   gpipe        all forwards, then all backwards (Huang et al. 2019, arXiv:1811.06965)
//   1f1b         p - 1 - s forwards, then forward and backward in turn (Narayanan et al. 2021,
//                arXiv:2104.04473, figure 4 top; Megatron-LM's schedule without interleaving)
//   interleaved  the same over v chunks a stage: 2 (p - 1 - s) + (v - 1) p forwards first; micro-
//                batches go through a chunk in groups of p (ibid., figure 4 bottom)
//   zero-bubble  ZB-H1: 1f1b with backward cut into the gradient of the input (B), which the stage
//                before waits for, and the gradient of the weights (W), which nobody does: stage s
//                puts W off by s micro-batches and fills its bubble with it, in the memory of
//                1f1b's first stage (Qi et al. 2023, arXiv:2401.10241, section 2.3)
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/scenario.h"

namespace stepsight {

// Blocks of one of `places`, which share a model's blocks out evenly, the first ones one more.
constexpr std::int64_t blocks_at(std::int64_t blocks, std::int64_t places, std::int64_t place) {
  return blocks / places + (place < blocks % places ? 1 : 0);
}

// The same of a model whose first `dense` layers do not count as blocks: they stand on the first
// place, with the embedding.
constexpr std::int64_t blocks_at(std::int64_t blocks,
                                 std::int64_t dense,
                                 std::int64_t places,
                                 std::int64_t place) {
  const std::int64_t layers = blocks_at(blocks + dense, places, place);
  return place == 0 ? layers - dense : layers;
}

struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::int64_t stages = 1;
  std::int64_t micro_batches = 1;  // of one pipeline in a step
  std::int64_t chunks = 1;  // model chunks a stage; above 1 only interleaved, and there always
};

// `backward` is both gradients at once; zero-bubble has the other two instead.
enum class PipelinePass : std::uint8_t { forward, backward, input_gradient, weight_gradient };

struct PipelineOp {
  PipelinePass pass = PipelinePass::forward;
  std::uint8_t chunk = 0;
  std::uint32_t micro_batch = 0;

  friend constexpr bool operator==(PipelineOp, PipelineOp) = default;
};

// Whether the pass hands a gradient to the stage before.
constexpr bool gives_input_gradient(PipelinePass pass) {
  return pass == PipelinePass::backward || pass == PipelinePass::input_gradient;
}
// Whether the weights' gradient of the micro-batch is complete after the pass.
constexpr bool gives_weight_gradient(PipelinePass pass) {
  return pass == PipelinePass::backward || pass == PipelinePass::weight_gradient;
}

struct PipelineOrder {
  PipelineShape shape;
  std::uint32_t ops_per_stage = 0;  // the same for all
  std::vector<PipelineOp> ops;      // stage by stage, each in its order

  std::span<const PipelineOp> of(std::int64_t stage) const {
    return std::span(ops).subspan(static_cast<std::size_t>(stage) * ops_per_stage, ops_per_stage);
  }
};

// The longest schedule that is built, passes of all stages together; and the most chunks a stage.
inline constexpr std::int64_t longest_pipeline_schedule = std::int64_t{1} << 22;
inline constexpr std::int64_t most_pipeline_chunks = 64;

// UserError for what no schedule does, naming the nearest that works: a count below 1, more than
// the limits above, chunks without interleaving, interleaving with one chunk, or with micro-batches
// that are no multiple of the stages (Megatron-LM's rule: the groups of p would not come out even).
void check_pipeline(const PipelineShape& shape);

// Checks, then puts the passes in order.
PipelineOrder order_passes(const PipelineShape& shape);

// Forwards of stage `stage` before its first backward.
std::int64_t warm_up_forwards(const PipelineShape& shape, std::int64_t stage);

// Most pairs of micro-batch and chunk whose activations the stage holds at one time: from the start
// of forward to the end of the pass that completes the weights' gradient.
//   gpipe m    1f1b min(m, p - s)    zero-bubble min(m, p)
//   interleaved min(v m, 2 (p - 1 - s) + (v - 1) p + 1)
std::int64_t peak_in_flight(const PipelineOrder& schedule, std::int64_t stage);

}  // namespace stepsight
