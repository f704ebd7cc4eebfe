// A step asked again with some of its inputs a little off: how much each of them matters.
#pragma once
#include "model/profile.h"
#include "model/scenario.h"
#include "simulate/step_costs.h"
#include "simulate/step_input.h"
#include "simulate/step_links.h"
#include "simulate/step_time.h"

namespace stepsight {

class PerturbedStep {
 public:
  // Both must outlive this. UserError for a link that is not known.
  PerturbedStep(const Scenario& scenario, const GpuProfile& gpu);

  [[nodiscard]] StepTime step(const InputChanges& changes = {});
  // Communication that is not hidden, in seconds.
  [[nodiscard]] double exposed(const InputChanges& changes = {});
  // Whether the step uses the input at all.
  [[nodiscard]] bool uses(StepInput input) const;
  [[nodiscard]] const StepLinks& links() const { return links_; }

 private:
  template <typename Ask>
  auto with(const InputChanges& changes, const Ask& ask);

  const Scenario& scenario_;
  GpuProfile gpu_;  // without what pricing has been done with: product's points, collectives
  StepWork work_;
  StepCosts costs_;
  StepLinks links_;
  bool loopback_ = false, collective_ = false, convolves_ = false, attends_ = false;
};

}  // namespace stepsight
