// Measurements in, a profile out: every parameter with its value, standard deviation, number of
// points and source; every group with its error on points that it was fitted to and on points that
// were held out; and the measured points themselves.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/measurements.h"
#include "model/point_row.h"
#include "model/profile.h"

namespace stepsight {

struct FitOptions {
  std::string link;  // name of the link that collective points were measured on
  // A measured card whose utilisation stands in for what was not measured on this one.
  std::optional<GpuProfile> reference{};
};

struct FittedProfile {
  GpuProfile profile;
  std::vector<PointRow> points;
};

// `gpu` brings the vendor's figures (name, multiprocessors, memory, peak rates); everything else of
// it is replaced. Groups without points keep class values, and their records say so. UserError when
// there is no point at all.
FittedProfile fit_profile(const GpuProfile& gpu,
                          const Measurements& measurements,
                          const FitOptions& options);

// A fifth of the shapes is held out of every fit, chosen by the shape alone so that every repeat
// and layout of a shape goes the same way.
bool held_out(const std::array<std::int64_t, 6>& shape);

}  // namespace stepsight
