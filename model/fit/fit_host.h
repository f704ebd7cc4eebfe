// Host costs from the time that whole phases of small models took to issue.
#pragma once
#include <span>
#include <vector>

#include "model/fit/solve.h"

namespace stepsight {

// What a phase of this model issues, counted by the builder that the simulator uses.
HostCounts host_counts(const HostPoint& point);

// Time of the counted work with the given costs.
double host_time_us(const HostCounts& counts, const HostParameters<double>& host);

}  // namespace stepsight
