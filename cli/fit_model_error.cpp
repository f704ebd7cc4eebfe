#include "cli/fit_model_error.h"

#include <cstdio>
#include <filesystem>

#include "cli/output.h"
#include "cli/predicted_runs.h"
#include "model/io/model_error_file.h"
#include "reports/validate_report.h"

namespace stepsight {

void fit_model_error(const std::vector<std::string>& files, const std::string& output) {
  std::vector<MeasuredRun> runs;
  std::vector<std::string> names;
  for (const std::string& file : files) {
    for (MeasuredRun& run : read_runs(file)) runs.push_back(std::move(run));
    names.push_back(std::filesystem::path(file).filename().string());
  }
  PredictedRuns predicted = predict_runs(runs, "", {});
  ModelError error = learn_model_error(teaching_samples(predicted));
  hold_out_groups(predicted);
  error.held_out_coverage = predicted.validation.all().coverage90;
  error.sources = std::move(names);
  const std::string text = model_error_text(error);
  if (!output.empty()) write_output(output, text);
  std::fputs((text + "\nIntervals of runs whose source and card taught nothing:\n" +
              validation_text(predicted.validation, false))
                 .c_str(),
             stdout);
}

}  // namespace stepsight
