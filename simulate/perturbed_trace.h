// A traced step asked again with some of its inputs a little off, as simulate/perturbed_step.h does
// for one that is built from a model.
#pragma once
#include "simulate/step_input.h"
#include "simulate/step_time.h"
#include "simulate/timed_trace.h"

namespace stepsight {

// The length of a traced step in training: the slowest rank's, with what it waits for data and its
// share of pauses. UserError as time_trace().
StepTime traced_step_time(const TracedParts& parts);
// Seconds of it in which the GPU has nothing to compute while it communicates.
double traced_exposed_time(const TracedParts& parts);

class PerturbedTrace {
 public:
  // All must outlive this. `costs` are of `step` on `gpu`. UserError for a link that is not known.
  PerturbedTrace(const TracedStep& step,
                 const TracedCosts& costs,
                 const Scenario& scenario,
                 const GpuProfile& gpu);

  [[nodiscard]] StepTime step(const InputChanges& changes = {});
  // Communication that is not hidden, in seconds.
  [[nodiscard]] double exposed(const InputChanges& changes = {});
  [[nodiscard]] bool uses(StepInput input) const;
  [[nodiscard]] const TracedLinks& links() const { return links_; }

 private:
  template <typename Ask>
  auto with(const InputChanges& changes, const Ask& ask);

  const TracedStep& step_;
  const TracedCosts& costs_;
  const Scenario& scenario_;
  GpuProfile gpu_;
  TracedLinks links_;
};

}  // namespace stepsight
