// What a stage's tensors take while it runs, found by walking its operators in the order in which
// they run: what autograd keeps from an operator's forward for its backward, when backward lets it
// go, which gradients flow in between, and when the gradients of parameters come. What each
// operator keeps is PyTorch's (tools/autograd/derivatives.yaml): a product its input (and, under
// autocast, the cast weight), a norm its input and statistics, GELU and SiLU their input, a product
// of two both, fused attention query, key, value, output and log-sum-exp, softmax and log-softmax
// their output, dropout its mask. A compiled step keeps what products and fused passes read; SiLU's
// output is computed again.
#pragma once
#include "model/dtype.h"
#include "model/transformer.h"

namespace stepsight {

// Bytes at one moment.
struct LiveBytes {
  double saved = 0;      // kept from forward for backward
  double temporary = 0;  // inputs and outputs that nobody keeps, gradients of activations, scratch
  double gradients = 0;  // of parameters, formed so far in this stage

  [[nodiscard]] double sum() const { return saved + temporary + gradients; }
};

struct LivenessRules {
  Dtype compute = Dtype::bf16;
  bool mixed = false;  // autocast: the residual stream in fp32, weights cast at use
  bool compiled = false;
  bool dropout = false;
  bool narrow_loss = false;  // the loss is given 16-bit logits and works in their type
  Recompute recompute = Recompute::none;
  double gradient_bytes = 4;    // of an element, as backward forms it
  bool gradients_stay = true;   // false: they are added to those of earlier micro-steps at once
  double boundary_bytes = 0;    // of the residual stream where the stage begins and ends
  double pending_elements = 0;  // a tied weight's gradient, formed by the head and waiting
  double tensor_ranks = 1;      // that share the tokens of an input which is gathered before use
};

struct StageLiveness {
  double saved = 0;             // kept when forward is done
  LiveBytes forward;            // at the fullest moment of forward, of this stage alone
  LiveBytes backward;           // at the fullest moment of backward
  double gradients = 0;         // bytes of gradients that backward leaves behind, if they stay
  double pending_elements = 0;  // of a tied weight, formed here and completed elsewhere
};

StageLiveness walk_stage(const StageWork& stage, const LivenessRules& rules);

}  // namespace stepsight
