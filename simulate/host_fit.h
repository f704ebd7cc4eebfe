// How much slower or faster a machine's host is than that of the machine its card's profile was
// measured on: one factor on all that the host does, from a few measured runs of that machine.
#pragma once
#include <cstddef>
#include <vector>

#include "model/profile.h"
#include "model/scenario.h"

namespace stepsight {

struct HostRun {
  Scenario scenario;
  double measured_s = 0;  // > 0
};

// Bounds of the factor: hosts beyond them are not slow, something else is missing.
inline constexpr double least_host_factor = 0.2;
inline constexpr double largest_host_factor = 5;

// The profile with every host time multiplied.
GpuProfile with_host_factor(const GpuProfile& gpu, double factor);

// The factor with the least mean |log(predicted / measured)| over the runs, which are all of one
// card; 1 where the runs do not feel the host. `runs` is not empty.
double fit_host_factor(const std::vector<HostRun>& runs, const GpuProfile& gpu);

// The places of `count` rows spread evenly over `rows`: a rule that nobody can steer. All where
// there are no more.
std::vector<std::size_t> spread_evenly(std::size_t rows, std::size_t count);

}  // namespace stepsight
