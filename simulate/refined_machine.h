// A machine's profile and links with what its own measured steps say of them (simulate/refine.h).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/link_curve.h"
#include "model/profile.h"
#include "simulate/refine.h"

namespace stepsight {

// Every parameter that the refinement moves, with its record: a time as its input's, within its
// bounds. The profile's own curves of the links that the steps used are among them. Measured points
// stay where they lie over their formulas, which are moved. A value's standard deviation becomes
// what the steps leave of it.
GpuProfile refined_profile(const GpuProfile& gpu,
                           const Refinement& refinement,
                           std::span<const MeasuredStep> steps);

// A link with its fit's records, as model/io/link_file.h writes it.
struct RefinedLink {
  MeasuredLink link;
  std::vector<ParameterRecord> records;
  std::string was;  // the name under which the steps used it
};

// The links that the steps used and the profile has no curve of, each once. A measured one keeps
// all of its curves, moved; of a class the groups that the steps ran on become curves, so that
// other group sizes take over what they make of the class (model/link_curve.h). Precondition: facts
// are there.
std::vector<RefinedLink> refined_links(const GpuProfile& gpu,
                                       const Refinement& refinement,
                                       std::span<const MeasuredStep> steps);

}  // namespace stepsight
