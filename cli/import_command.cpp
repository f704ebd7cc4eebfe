#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "model/io/logs/read_log.h"
#include "reports/log_report.h"

namespace stepsight {

namespace {

struct ImportFlags {
  std::string file;
  std::string output;
  bool json = false;
  bool csv = false;
};

void import_log(const ImportFlags& flags) {
  LogReport report;
  report.log = read_step_log(flags.file);
  report.window = steady_window(report.log.steps);
  write_output(flags.output,
               flags.json  ? log_json(report)
               : flags.csv ? log_csv(report)
                           : log_text(report));
}

}  // namespace

void add_import_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* command =
      app.add_subcommand("import", "What a trainer's log says: steady step, warm-up, stalls, facts");
  command->add_option("log", flags->file, "log of a training run, of any trainer (.gz too)")->required();
  CLI::Option* json = command->add_flag("--json", flags->json, "for machines");
  command->add_flag("--csv", flags->csv, "one row a step")->excludes(json);
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->footer("Example:\n  stepsight import train.log");
  command->callback([flags] { import_log(*flags); });
}

}  // namespace stepsight
