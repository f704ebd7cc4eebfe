// What a fit did, for a terminal.
#pragma once
#include <span>
#include <string>

#include "model/link_curve.h"
#include "model/measurements.h"
#include "model/profile.h"
#include "reports/text_table.h"

namespace stepsight {

// Ceilings, error a group on fitted and held-out points, and what was not measured.
std::string fit_report_text(const GpuProfile& profile, const Measurements& measurements);

// The curves of a link with their errors.
std::string fit_link_report_text(const MeasuredLink& link, const Measurements& measurements);

// One row a group: points fitted and held out, and the errors on both.
TextTable quality_table(std::span<const FitQuality> quality);

// Rate of a copy of 1 GiB, read plus written, by the profile.
double copy_TBps(const GpuProfile& profile);

}  // namespace stepsight
