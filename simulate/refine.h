// A machine's own inputs from a few measured steps: each input's prior (simulate/input_spread.h) is
// moved as far as the steps say, and kept where they are silent.
//
//   log(measured / predicted) = sum over inputs (effect of the input on the step x its change) +
//   noise
//
// with a normal prior of the input's standard deviation on each change, and noise of the size that
// the steps leave over: the posterior is a small linear system (Bishop, Pattern Recognition and
// Machine Learning, 2006, section 3.3).
#pragma once
#include <string>
#include <vector>

#include "simulate/perturbed_step.h"

namespace stepsight {

struct MeasuredStep {
  std::string id;
  Scenario scenario;
  double seconds = 0;  // > 0
};

struct RefinedInput {
  StepInput input = StepInput::host;
  double change = 0;     // of the logarithm of its time; 0.3 = a third slower
  double sd_before = 0;  // of that logarithm
  double sd_after = 0;
};

struct RefinedStep {
  std::string id;
  double measured = 0;
  double before = 0;    // s
  double after = 0;     // with what all steps say
  double left_out = 0;  // with what the other steps say
};

struct Refinement {
  std::vector<RefinedInput> inputs;  // those that any step uses, in the order of StepInput
  std::vector<RefinedStep> steps;
  double noise = 0;  // standard deviation of what is left over, of the logarithm
  // Means of |predicted / measured - 1|.
  double error_before = 0;
  double error_left_out = 0;

  [[nodiscard]] InputChanges changes() const;
};

// At least two steps, all of one card. UserError for a link that is not known.
Refinement refine(const std::vector<MeasuredStep>& steps, const GpuProfile& gpu);

}  // namespace stepsight
