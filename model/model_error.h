// The error that a prediction has even where every parameter is right: learnt from measured runs,
// as a function of what the prediction says of itself. No source, card, model or row is named here.
#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/quantiles.h"

namespace stepsight {

// What a step's error may come from. Each is a share of the step: by how many percent the step
// grows when that input's time grows by one percent, unless the table says otherwise.
enum class ErrorTerm : unsigned char {
  any,
  host,
  class_compute,
  class_memory,
  class_power,
  class_link,
  measured_link,
  bubble,
  unmeasured,
};

struct ErrorTermInfo {
  ErrorTerm term;
  std::string_view name;  // in files and JSON
  std::string_view meaning;
};

inline constexpr std::array<ErrorTermInfo, 9> error_terms{{
    {ErrorTerm::any, "any", "always 1: what no other term tells"},
    {ErrorTerm::host, "host", "issue by the host"},
    {ErrorTerm::class_compute,
     "class_compute",
     "products, attention and convolutions of a card that nobody measured"},
    {ErrorTerm::class_memory, "class_memory", "memory-bound passes of such a card"},
    {ErrorTerm::class_power, "class_power", "energy of such a card's work under its power limit"},
    {ErrorTerm::class_link, "class_link", "messages on a link that nobody measured"},
    {ErrorTerm::measured_link, "measured_link", "messages on a measured link"},
    {ErrorTerm::bubble, "bubble", "part of a pipeline's step that is its bubble"},
    {ErrorTerm::unmeasured,
     "unmeasured",
     "part of a measured card's kernels that no point is near"},
}};

using ErrorShares = std::array<double, error_terms.size()>;

// What stands in until runs have taught better: the spreads of host issue between machines of a
// kind (README.md), of class values (model/class_profile.h) and of link classes
// (model/link_class.h).
inline constexpr ErrorShares untaught_sd{0, 0.33, 0.2, 0.2, 0.2, 0.4, 0, 0, 0};

// The error of log(measured / predicted) has the scale
//   s^2 = variance of the measured inputs + sum over terms (sd x share)^2
// and its 5 % and 95 % quantiles are low x s and high x s.
struct ModelError {
  std::array<double, error_terms.size()> sd = untaught_sd;
  double low = -1.645;  // of a normal distribution, until runs say otherwise
  double high = 1.645;
  // The same for log(measured / predicted) of a ratio of two steps, whose shares differ: the terms'
  // differences, and what two steps never have in common.
  double ratio_sd = 0;
  double ratio_low = -1.645;
  double ratio_high = 1.645;
  // Where these come from.
  std::size_t rows = 0;
  std::size_t groups = 0;
  double held_out_coverage = 0;  // of 90 % intervals, each group's learnt on the others
  std::vector<std::string> sources;
};

// Variance that the terms add to that of the measured inputs.
double error_variance(const ModelError& error, const ErrorShares& shares);

// The interval around a positive value whose logarithm has that scale.
Quantiles interval_of(double value, double log_scale, double low, double high);

}  // namespace stepsight
