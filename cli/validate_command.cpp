#include <memory>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/predicted_runs.h"
#include "cli/wrap.h"
#include "model/io/model_error_file.h"
#include "reports/validate_report.h"

namespace stepsight {

namespace {

struct ValidateFlags {
  std::string file;
  std::string output;
  std::string only;
  double max_mape = 0;
  bool json = false;
  bool rows = false;
  bool held_out = false;
};

void validate(const ValidateFlags& flags, int& exit_code) {
  const std::vector<MeasuredRun> runs = read_runs(flags.file);
  PredictedRuns predicted = predict_runs(runs, flags.only, read_model_error());
  if (flags.held_out) hold_out_groups(predicted);
  const Validation& validation = predicted.validation;
  write_output(flags.output, flags.json ? validation_json(validation)
                                        : validation_text(validation, flags.rows));
  if (flags.max_mape > 0 &&
      (validation.points.empty() || validation.all().mape > flags.max_mape / 100)) {
    exit_code = exit_check_failed;
  }
}

}  // namespace

void add_validate_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<ValidateFlags>();
  CLI::App* command =
      app.add_subcommand("validate", "Predicted against measured, for a table of runs");
  command->add_option("runs", flags->file, "CSV with one measured run a row (.gz too)")->required();
  command->add_option("--only", flags->only, "rows whose id begins with this");
  command->add_option("--max-mape", flags->max_mape, "exit 1 when the mean error exceeds this, in %");
  command->add_flag("--rows", flags->rows, "also every predicted row");
  command->add_flag("--held-out",
                    flags->held_out,
                    help_text("intervals with the model's error learnt anew for each source and card, "
                              "from the others of the file"));
  command->add_flag("--json", flags->json, "for machines");
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->footer("Example:\n  stepsight validate runs.csv --only H2 --rows");
  command->callback([flags, &exit_code] { validate(*flags, exit_code); });
}

}  // namespace stepsight
