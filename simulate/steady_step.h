// A priced step in its steady state, asked about on one machine or several: by the short way of
// simulate/quick_step.h where that can follow it, else by the engine. The answers are the same.
#pragma once
#include <optional>

#include "simulate/quick_step.h"
#include "simulate/step_program.h"

namespace stepsight {

class SteadyStep {
 public:
  // Both must outlive it.
  SteadyStep(const StepParts& parts, const TimedStep& timed) : parts_(parts), timed_(timed) {}

  QuickStep on(const Machine& machine);

 private:
  const StepParts& parts_;
  const TimedStep& timed_;
  std::optional<StepProgram> program_;  // once it is needed
};

// Of the last step of a program that was run.
QuickStep last_step(const StepProgram& step, const Timeline& timeline);

}  // namespace stepsight
