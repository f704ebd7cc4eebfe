// The operators of one training step of a transformer, as a framework launches them: every kernel
// of forward and backward in program order, with the points at which a parameter's gradient is
// complete. Eager mode launches each memory-bound pass by itself; compiled mode fuses them.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/collective.h"
#include "model/model_shape.h"
#include "model/operators.h"
#include "model/parallel_layout.h"
#include "model/scenario.h"

namespace stepsight {

// Label of the passes that cast a product's input or weight to fp8.
inline constexpr std::string_view fp8_cast = "cast to fp8";

// A gradient that is complete once backward[after] has run.
struct GradientReady {
  std::uint32_t after = 0;
  std::int64_t elements = 0;
  std::string_view role;
  // Each tensor-parallel rank has summed over its own tokens only: the ranks' sums are added up
  // once a step (sequence parallelism).
  bool partial = false;
  // Of experts that are shared out: reduced among the ranks that hold the same ones (of_experts()).
  bool experts = false;
};

// A collective within the model's own work (tensor, context or expert parallel): it begins when the
// operators before position `before` have run, and those from there on wait for it.
struct Exchange {
  std::uint32_t before = 0;
  Axis axis = Axis::tensor;
  CollectiveKind kind = CollectiveKind::all_reduce;
  double bytes = 0;  // as CollectiveKind counts a message
  std::string_view label;
  // Operators from `before` on that do not need its result: they run beside it.
  std::uint32_t beside = 0;
  // The host reads from the card how much it is to send, and issues nothing until it knows.
  bool stops_host = false;
};

// A stretch of the model: the embedding, one block, or the head with the loss.
struct StageWork {
  std::vector<Operator> forward;
  std::vector<Operator> backward;
  std::vector<Exchange> forward_exchanges;  // in order of `before`
  std::vector<Exchange> backward_exchanges;
  std::vector<GradientReady> ready;  // in order of `after`
  double saved_bytes = 0;            // activations kept from forward to backward
  double peak_bytes = 0;             // further bytes that live only inside the stage
};

// Of all parameters whose gradients become complete in the stage.
double gradient_elements(const StageWork& stage);
// Those of them that belong to experts which ranks share out.
double expert_elements(const StageWork& stage);
struct StepWork;
double expert_elements(const StepWork& work);

struct StepWork {
  StageWork embedding;
  StageWork block;
  StageWork head;
  std::int64_t blocks = 0;
  // Where only the first blocks recompute: the last `kept_blocks` of them run as `kept_block`,
  // which differs from `block` in its backward. Empty otherwise.
  StageWork kept_block;
  std::int64_t kept_blocks = 0;
  std::vector<Operator> optimizer;
  bool optimizer_waits = false;  // the host waits for the GPU within the update
  double optimizer_launches =
      1;  // that the host issues a tensor, in units of a fused update's share
  std::int64_t parameters = 0;
  std::int64_t tensors = 0;
  double tokens = 0;  // of one GPU and micro-step
  // For MFU: of the whole model and micro-step, without recomputation or what several ranks compute
  // alike, over the tensor and context ranks that share it.
  Flops model_flops;
};

// Number format of parameters and gradients.
Dtype parameter_dtype(const Precision& precision);
// Number format of the optimizer's states and of the parameters that it updates.
Dtype optimizer_dtype(const Precision& precision);
// Bytes of one gradient element as it is reduced between GPUs.
double gradient_bytes(const Training& training);

// Elements of a step's gradients that are `partial`.
double partial_elements(const StepWork& work);

// What one GPU does that holds the whole model. Precondition: problems(shape) is empty,
// training.seq > 0.
StepWork step_work(const ModelShape& shape, const Training& training);

// What one rank of tensor and context parallelism does. Sharded parameters (FSDP) are cast once,
// when they are gathered, and not by autocast at each operator; a rank updates the shard whose
// states it holds. Precondition: violations(scenario) is empty.
StepWork step_work(const Scenario& scenario);

}  // namespace stepsight
