// A table of measured runs, each row predicted, with how sure the prediction is.
#pragma once
#include <string>
#include <vector>

#include "cli/host_calibration.h"
#include "model/io/runs_csv.h"
#include "model/model_error.h"
#include "simulate/learn_model_error.h"
#include "simulate/validate.h"

namespace stepsight {

struct PredictedRuns {
  Validation validation;
  std::vector<ErrorSample> samples;  // one a point of the validation, in its order
};

// Rows whose id begins with `only`. A row that cannot be predicted is counted as refused; a card or
// a link is looked up once. Intervals of the points are those that `error` gives. With `host` the
// profiles' host times are multiplied, and the rows that this was fitted on are left out. UserError
// for a file that is no table of runs.
PredictedRuns predict_runs(const std::vector<MeasuredRun>& runs,
                           const std::string& only,
                           const ModelError& error,
                           const HostCalibration& host = {});

// The points' intervals anew, the model's error of each learnt on the other groups' complete rows
// without a flag.
void hold_out_groups(PredictedRuns& runs);

// What teaches: complete rows without a flag.
std::vector<ErrorSample> teaching_samples(const PredictedRuns& runs);

}  // namespace stepsight
