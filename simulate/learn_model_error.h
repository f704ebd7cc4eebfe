// The model's own error, learnt from measured runs: how wide its terms are, and how heavy the
// tails. Rows of one source and card fail alike, so that a group counts with the square root of its
// rows, and nothing is ever judged by what its own group taught.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/model_error.h"
#include "simulate/uncertainty.h"

namespace stepsight {

// A measured run that was predicted.
struct ErrorSample {
  std::string group;  // error_group()
  // Rows with the same text differ in their number of GPUs alone: model, batch, precision, ...
  std::string same_work;
  std::int64_t gpus = 1;
  double log_error = 0;     // log(measured / predicted)
  Uncertainty uncertainty;  // `effects` and `shares` are read
};

// A source's project (what stands before its first colon, as in "owner/name:path") and the card.
std::string error_group(std::string_view source, std::string_view gpu);

// The terms' widths maximise the likelihood of a Student t distribution with 4 degrees of freedom
// around the predictions, each added to the variance of the inputs; then low and high are the
// weighted 5 % and 95 % quantiles of what was measured, in units of that scale. The same for the
// ratios of rows with the same work. Fewer than 20 samples teach nothing: UserError.
ModelError learn_model_error(std::span<const ErrorSample> samples);

// The interval of each sample, its model error learnt on the other groups: log(p5 / predicted) and
// log(p95 / predicted).
struct LogInterval {
  double low = 0;
  double high = 0;
};
std::vector<LogInterval> held_out_intervals(std::span<const ErrorSample> samples);

}  // namespace stepsight
