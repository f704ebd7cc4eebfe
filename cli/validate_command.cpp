#include <memory>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/host_calibration.h"
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
  std::string source;
  std::size_t host_rows = 0;
  double max_mape = 0;
  bool json = false;
  bool rows = false;
  bool held_out = false;
  std::string language = "en";
};

void validate(const ValidateFlags& flags, int& exit_code) {
  std::vector<MeasuredRun> runs = read_runs(flags.file);
  std::erase_if(
      runs, [&](const MeasuredRun& r) { return r.source.find(flags.source) == std::string::npos; });
  HostCalibration host;
  if (flags.host_rows > 0) host = calibrate_host(runs, flags.only, flags.host_rows);
  PredictedRuns predicted = predict_runs(runs, flags.only, read_model_error(), host);
  predicted.validation.host = {host.factor, {host.rows.begin(), host.rows.end()}};
  if (flags.held_out) hold_out_groups(predicted);
  const Validation& validation = predicted.validation;
  write_output(flags.output,
               flags.json ? validation_json(validation)
                          : validation_text(validation, flags.rows, Words(flags.language)));
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
  command->add_option("--source", flags->source, "rows whose source has this in it");
  command
      ->add_option(
          "--host-rows",
          flags->host_rows,
          help_text("fit how slow the machine's host is on this many rows, spread evenly over "
                    "those of one source and card; errors are those of the others"))
      ->check(CLI::Range(1, 1000));
  command->add_option(
      "--max-mape", flags->max_mape, "exit 1 when the mean error exceeds this, in %");
  command->add_flag("--rows", flags->rows, "also every predicted row");
  command->add_flag(
      "--held-out",
      flags->held_out,
      help_text("intervals with the model's error learnt anew for each source and card, "
                "from the others of the file"));
  command->add_flag("--json", flags->json, "for machines");
  command->add_option("--lang", flags->language, "language of the text: en or zh")
      ->check(CLI::IsMember(language_names()));
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->footer(
      "Example:\n  stepsight validate runs.csv --only H2 --rows\n"
      "  stepsight validate runs.csv --source truth_single --host-rows 10");
  command->callback([flags, &exit_code] { validate(*flags, exit_code); });
}

}  // namespace stepsight
