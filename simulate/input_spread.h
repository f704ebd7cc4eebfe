// How sure each input of a step is: from the fits' errors where it was measured, wide where it is a
// class value.
#pragma once
#include <array>
#include <string>

#include "model/profile.h"
#include "model/scenario.h"
#include "simulate/perturbed_step.h"

namespace stepsight {

enum class InputOrigin : unsigned char { measured, between_measured, class_value };

struct InputSpread {
  double log_sd = 0;  // standard deviation of the time's natural logarithm
  InputOrigin origin = InputOrigin::measured;
};

using InputSpreads = std::array<InputSpread, step_input_count>;

// Measured: the errors on points that the fit had not seen (the median of a normal distribution's
// absolute values is 0.674 standard deviations), with the leading parameter's own. Class values:
// class_value_spread and link_class_spread. Hosts of one kind differ by a third from day to day
// (README.md), measured or not.
InputSpreads input_spreads(const GpuProfile& gpu, const Scenario& scenario, const StepLinks& links);

// The command that measures an input, on the machine that trains; `link` as the scenario names it.
std::string measuring_command(StepInput input, const Cluster& cluster);

}  // namespace stepsight
