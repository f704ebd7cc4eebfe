// What a fit did, for a terminal.
#pragma once
#include <string>

#include "model/link_curve.h"
#include "model/measurements.h"
#include "model/profile.h"

namespace stepsight {

// Ceilings, error a group on fitted and held-out points, and what was not measured.
std::string fit_report_text(const GpuProfile& profile, const Measurements& measurements);

// The curves of a link with their errors.
std::string fit_link_report_text(const MeasuredLink& link, const Measurements& measurements);

}  // namespace stepsight
