// A table of measured runs, each row predicted, with how sure the prediction is.
#pragma once
#include <string>
#include <vector>

#include "model/io/runs_csv.h"
#include "model/model_error.h"
#include "simulate/learn_model_error.h"
#include "simulate/validate.h"

namespace stepsight {

struct PredictedRuns {
  Validation validation;
  std::vector<ErrorSample> samples;  // one a point of the validation, in its order
};

// Rows whose id begins with `only`. A row that cannot be predicted is counted as refused; a card or a
// link is looked up once. Intervals of the points are those that `error` gives. UserError for a file
// that is no table of runs.
PredictedRuns predict_runs(const std::vector<MeasuredRun>& runs,
                           const std::string& only,
                           const ModelError& error);

// The points' intervals anew, the model's error of each learnt on the other groups' complete rows
// without a flag.
void hold_out_groups(PredictedRuns& runs);

// What teaches: complete rows without a flag.
std::vector<ErrorSample> teaching_samples(const PredictedRuns& runs);

}  // namespace stepsight
