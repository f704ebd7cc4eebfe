// The one page that a calibration ends with: what the card reaches, what looks wrong, what was not
// measured.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/io/machine_facts.h"
#include "model/measurements.h"
#include "model/profile.h"

namespace stepsight {

// One program that was run, or the reason why not.
struct CalibrationStep {
  std::string name;
  double seconds = 0;
  std::string problem;  // empty when it went well
};

// What looks wrong, a sentence each; empty when nothing does.
std::vector<std::string> calibration_warnings(const GpuProfile& profile,
                                              std::span<const MachineFacts> machines);

std::string calibration_text(const GpuProfile& profile,
                             const Measurements& measurements,
                             std::span<const MachineFacts> machines,
                             std::span<const CalibrationStep> steps);

}  // namespace stepsight
