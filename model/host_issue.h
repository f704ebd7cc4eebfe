// Which of the host's costs the issue of an operator is.
#pragma once
#include <variant>

#include "model/operators.h"
#include "model/parameters.h"

namespace stepsight {

enum class IssuePhase : std::uint8_t { forward, backward };

template <typename T = double>
using HostCost = T HostParameters<T>::*;

// Casts that autocast inserts cost less than an operator that the model's code calls; a compiled
// graph issues every kernel alike.
constexpr HostCost<> issue_cost(const Work& work, IssuePhase phase, bool compiled) {
  using H = HostParameters<double>;
  if (compiled) {
    return phase == IssuePhase::forward ? &H::compiled_forward_us : &H::compiled_backward_us;
  }
  const auto* pass = std::get_if<Pass>(&work);
  if (pass != nullptr && (pass->kind == PassKind::cast_down || pass->kind == PassKind::cast_up)) {
    return &H::cast_us;
  }
  return phase == IssuePhase::forward ? &H::forward_us : &H::backward_us;
}

// Kernels that a framework launches for an operator, as profiler traces of PyTorch 2.11 show them.
constexpr int kernel_count(const Work& work) {
  if (const auto* attention = std::get_if<Attention>(&work)) return attention->backward ? 5 : 2;
  if (const auto* convolution = std::get_if<Convolution>(&work)) {
    return convolution->direction == ConvolutionDirection::forward ? 1 : 2;
  }
  const auto* pass = std::get_if<Pass>(&work);
  if (pass == nullptr) return 1;
  switch (pass->kind) {
    case PassKind::layer_norm_backward:
    case PassKind::rms_norm_backward:
    case PassKind::bias_gradient:
      return 2;
    case PassKind::embedding_backward:
      return 25;
    case PassKind::batch_norm:
      return 4;
    case PassKind::batch_norm_backward:
      return 3;
    default:
      return 1;
  }
}

}  // namespace stepsight
