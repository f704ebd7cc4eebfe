// Host costs from the time that whole phases of small models took to issue.
#pragma once
#include <map>
#include <span>
#include <vector>

#include "model/fit/solve.h"

namespace stepsight {

// What a phase of this model issues, counted by the builder that the simulator uses.
HostCounts host_counts(const HostPoint& point);

// Machines of one kind differ, and so does one machine from hour to hour: each source's points are
// all slower or faster by a factor. The solution is for the machine in the middle (geometric mean
// of the factors 1), its deviations include the machines' spread, and `factors` has one a source.
struct HostSolution {
  Solution solution;
  std::map<std::uint32_t, double> factors;
};
HostSolution solve_host_machines(std::span<const HostPoint> points,
                                 const HostParameters<double>& start);

HostParameters<double> host_parameters(const Solution& solution);

// Time of the counted work with the given costs.
double host_time_us(const HostCounts& counts, const HostParameters<double>& host);

}  // namespace stepsight
