// GPUs and their profiles as files.
//   gpus/NAME.toml               the vendor's figures; `like` names a measured card of its kind
//   profiles/NAME.toml           [gpu], [parameters] one line each, [fit] quality a group
//   profiles/NAME.points.csv     the measured points that lie over the formulas (may be missing)
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "model/point_row.h"
#include "model/profile.h"

namespace stepsight {

// The vendor's figures of a card by name or path. UserError with every mistake.
GpuProfile read_gpu(const std::string& name);

// A fitted profile by name or path; for a card that has only vendor's figures, its class profile
// (model/class_profile.h). Every parameter must be there, within its bounds. UserError with every
// mistake of the file, or the nearest known names.
GpuProfile read_profile(const std::string& name);
// A fitted profile's .toml alone, without its points.
GpuProfile read_profile_text(const std::string& path, std::string_view text);

// The two files' texts. Numbers are written so that they read back to the same double.
std::string profile_text(const GpuProfile& profile);
std::string points_text(std::span<const PointRow> points);

}  // namespace stepsight
