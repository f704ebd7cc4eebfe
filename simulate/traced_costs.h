// What the kernels of a traced step take on the card in question, and what the host needs to issue
// them when no profiler watches.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/profile.h"
#include "model/traced_step.h"

namespace stepsight {

struct TracedCosts {
  std::vector<double> kernel_seconds;  // one a kernel
  // How the time on the traced card was carried over, as shares of it: as it is (the same card),
  // operator by operator (shapes recorded), or by the rate that bounds the kind of kernel.
  double kept = 0;
  double by_operator = 0;
  double by_rate = 0;
  double unmeasured_seconds = 0;  // by operator, and far from every measured point of either card
  // A profiler makes the host slower, several times for small kernels; its own profile says what an
  // operator's issue takes without one. By StepPart: what the traced times are multiplied by, at
  // most 1.
  std::array<double, 3> issue_scale{1, 1, 1};
};

// `traced_on` is the profile of the card that the trace is of; null: it is `gpu`.
//
//   an operator with known shapes   t * cost(operator, gpu) / cost(operator, traced_on)
//   a product or attention          start + (t - start') * rate' / rate, of the fitted peak rates
//   a copy to or from the host      the same with the link to the host
//   anything else                   the same with the bandwidths of a copy on the card
//
// where start' and rate' are those of traced_on. Host: operators, casts and parameter tensors of
// the trace times their costs in `gpu`, or the traced time where that is less.
TracedCosts cost_traced_step(const TracedStep& step,
                             const GpuProfile& gpu,
                             const GpuProfile* traced_on = nullptr);

// Parameters whose fused AdamW update takes as long as the optimizer's kernels of the trace.
// Nothing where the trace has no update.
std::optional<std::int64_t> infer_parameters(const TracedStep& step, const GpuProfile& traced_on);

}  // namespace stepsight
