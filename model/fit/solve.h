// Fits one group of parameters to its points with Ceres: residuals are log(formula / measured), so
// that a factor counts the same for a microsecond and for a second. The formula is the template
// that predicts; Ceres differentiates it. Only solve.cpp includes the solver.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/cost.h"
#include "model/measurements.h"
#include "model/parameters.h"

namespace stepsight {

// The result of a group: values in the order of Parameters::fields(), with standard deviations from
// the covariance of the residuals (0 for a parameter that the points do not determine, or no better
// than its bounds do; `determined` says which). The deviation of a parameter at one of its bounds
// is the unbounded problem's.
struct Solution {
  std::vector<double> values;
  std::vector<double> deviations;
  std::vector<bool> determined;
  double residual_spread = 0;  // standard deviation of log(formula / measured)
  bool converged = false;
  std::string message;  // the solver's own words
};

// `class_bandwidth`: the bandwidth expected from the card's memory, in TB/s. Tables of products
// that are all bound by arithmetic do not determine it; a deviation from it by 15 % weighs as much
// as one of 4.5 % at every point.
Solution solve_gemms(std::span<const GemmPoint> points,
                     const GemmParameters<double>& start,
                     Multiprocessors sms,
                     std::optional<double> class_bandwidth = {});
Solution solve_attention(std::span<const AttentionPoint> points,
                         const AttentionParameters<double>& start,
                         int multiprocessors);
Solution solve_passes(std::span<const PassPoint> points, const PassParameters<double>& start);
Solution solve_convolutions(std::span<const ConvolutionPoint> points,
                            const ConvolutionParameters<double>& start,
                            const GemmParameters<double>& product,
                            Multiprocessors sms);
Solution solve_copies(std::span<const CopyPoint> points, const CopyParameters<double>& start);
Solution solve_power(std::span<const PowerPoint> points, const PowerParameters<double>& start);
Solution solve_collective(std::span<const CollectivePoint> points,
                          const CollectiveParameters<double>& start);

// Host time of a phase as counts of issued work times HostParameters, in the order of its fields.
struct HostCounts {
  std::array<double, HostParameters<double>::fields().size()> count{};
  double time_us = 0;
};
Solution solve_host(std::span<const HostCounts> points, const HostParameters<double>& start);

}  // namespace stepsight
