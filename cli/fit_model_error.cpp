#include "cli/fit_model_error.h"

#include <cstdio>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/predicted_runs.h"
#include "model/io/model_error_file.h"
#include "reports/validate_report.h"

namespace stepsight {

namespace {

// Who taught, as a comment: nothing reads it.
std::string groups_text(const std::vector<ErrorSample>& samples) {
  std::map<std::string, int> rows;
  for (const ErrorSample& s : samples) ++rows[s.group];
  std::string out = "\n# Groups, and how many runs each had:\n";
  for (const auto& [group, n] : rows) out += fmt::format("#   {} {}\n", group, n);
  return out;
}

}  // namespace

void fit_model_error(const std::vector<std::string>& files, const std::string& output) {
  std::vector<MeasuredRun> runs;
  std::vector<std::string> names;
  for (const std::string& file : files) {
    const std::size_t before = runs.size();
    for (MeasuredRun& run : read_runs(file)) runs.push_back(std::move(run));
    names.push_back(fmt::format(
        "{}: {} runs", std::filesystem::path(file).filename().string(), runs.size() - before));
  }
  PredictedRuns predicted = predict_runs(runs, "", {});
  ModelError error = learn_model_error(teaching_samples(predicted));
  hold_out_groups(predicted);
  error.held_out_coverage = predicted.validation.all().coverage90;
  error.sources = std::move(names);
  const std::string text = model_error_text(error) + groups_text(teaching_samples(predicted));
  if (!is_standard_output(output)) write_output(output, text);
  std::fputs((text + "\nIntervals of runs whose source and card taught nothing:\n" +
              validation_text(predicted.validation, false))
                 .c_str(),
             stdout);
}

}  // namespace stepsight
