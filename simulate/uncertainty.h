// How sure a prediction is, of what it is least sure, and what to measure to be surer.
//
//   log(real / predicted) has the scale s, s^2 = sum over measured inputs (what the step changes
//   for one standard deviation of the input)^2 + sum over the model's error terms
//   (model/model_error.h)
//
// An input's effect is found by simulating again with it a tenth slower, so that an input which
// something else hides counts only as far as it would come to light. How far class values
// and hosts are off is among the terms, which measured runs teach.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "model/model_error.h"
#include "model/quantiles.h"
#include "simulate/input_spread.h"
#include "simulate/predict.h"

namespace stepsight {

// What one input adds.
struct Contribution {
  std::string input;  // "host issue"; "the model itself" for what is no input's
  double log_sd = 0;  // of the step, by this alone
  double share = 0;   // of the variance; all add up to 1
  InputOrigin origin = InputOrigin::measured;
  std::string command;  // measures the input; empty where none does
};

struct Uncertainty {
  Quantiles step;                           // seconds
  double log_sd = 0;                        // s
  double parameter_log_sd = 0;              // the measured inputs' part of it
  std::vector<Contribution> contributions;  // largest first
  // Every input that matters was measured, at shapes and sizes near these.
  bool inside_calibration = true;
  std::string outside;  // what was not, for people: "matrix products, link bandwidth"
  // What differences of two predictions are made of.
  InputChanges effects{};  // change of log(step) for one standard deviation; 0 where a term has it
  ErrorShares shares{};
  ErrorShares term_log_sd{};    // of the step, by each term: the model's sd times its share
  double ratio_log_sd = 0;      // what two steps never have in common
  InputChanges elasticities{};  // percent of the step for one percent of each input's time
  InputChanges input_log_sd{};  // of each input's time, by its own measurement and by its term
};

// A step that can be asked again with its inputs a little off.
struct StepQuestion {
  std::function<StepTime(const InputChanges&)> step;
  std::function<double(const InputChanges&)>
      exposed;  // seconds of communication that does not hide
  std::function<bool(StepInput)> uses;
  InputSpreads spreads{};
  double bubble = 0;  // part of the step
  Cluster cluster;    // whose link a command measures
};

// Both must outlive the question. UserError for a link that is not known.
StepQuestion step_question(const Scenario& scenario, const GpuProfile& gpu);

// The input to measure first: the largest contribution that a command narrows. Null where none
// contributes.
const Contribution* weakest_input(const Uncertainty& uncertainty);

// `error` as learnt from measured runs (model/io/model_error_file.h). UserError as step_question().
Uncertainty uncertainty_of(const Scenario& scenario,
                           const GpuProfile& gpu,
                           const Prediction& prediction,
                           const ModelError& error);
Uncertainty uncertainty_of(const Scenario& scenario,
                           const GpuProfile& gpu,
                           Seconds step,
                           const ModelError& error);
Uncertainty uncertainty_of(const StepQuestion& question, Seconds step, const ModelError& error);

// The interval of `ratio`, predicted from the step of `a` over that of `b` (a speed-up, an
// efficiency). Inputs that both use on the same GPU are off alike in both; what differs remains.
Quantiles ratio_interval(double ratio,
                         const Uncertainty& a,
                         const Uncertainty& b,
                         const ModelError& error);

// What the model's error goes by in pairs of predictions.
double ratio_parameter_variance(const Uncertainty& a, const Uncertainty& b);
ErrorShares share_differences(const Uncertainty& a, const Uncertainty& b);

}  // namespace stepsight
