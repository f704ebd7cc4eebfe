// Several predictions' errors drawn together: what two steps have in common is off alike in both,
// so that the interval of anything computed from them is that of its values over the draws, and not
// one made of two independent intervals.
//
//   log(real / predicted) = sum over inputs (effect x z) + sum over terms (sd x share x z) + what
//   is its own
//
// Each z is a standard normal of one input or term: of the card, of the link, or of the machine
// whatever its card. The sum is stretched to either side as the model's error was learnt to be, so
// that a step's own quantiles are those of Uncertainty::step, but for what steps never have in
// common (ratio_log_sd).
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "simulate/uncertainty.h"

namespace stepsight {

inline constexpr std::size_t joint_draws = 1000;

// One after the other gives the same draws in every order of asking, on every machine.
class JointDraws {
 public:
  // Real over predicted time of a step, one a draw; 1 throughout where no interval is known. Steps
  // that depend on nothing differently have the same factors.
  std::vector<double> step_factors(const Cluster& cluster, const Uncertainty& uncertainty);

 private:
  const std::vector<double>& normals(const std::string& name);

  std::map<std::string, std::vector<double>> known_;
};

// Ends of the interval of 90 % of the values; they may be infinite, and are reordered.
struct Ends {
  double p5 = 0, p95 = 0;
};
Ends ends_of(std::vector<double>& values);

}  // namespace stepsight
