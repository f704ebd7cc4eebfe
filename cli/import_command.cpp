#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/logs/nsys_sqlite.h"
#include "model/io/logs/read_log.h"
#include "model/io/logs/trace_split_file.h"
#include "model/io/trace_file.h"
#include "reports/log_report.h"
#include "reports/trace_split_report.h"

namespace stepsight {

namespace {

struct ImportFlags {
  std::vector<std::string> files;
  std::string output;
  bool json = false;
  bool csv = false;
};

void import_traces(const ImportFlags& flags) {
  if (flags.csv) throw UserError("--csv: a trace has no rows of steps; --json has all figures");
  std::vector<NamedSplit> ranks;
  for (const std::string& file : flags.files) {
    ranks.push_back(
        {file, names_an_nsys_recording(file) ? read_nsys_split(file) : read_step_split(file)});
  }
  write_output(flags.output, flags.json ? splits_json(ranks) : splits_text(ranks));
}

void import_log(const ImportFlags& flags) {
  LogReport report;
  report.log = read_step_log(flags.files.front());
  report.window = steady_window(report.log.steps);
  write_output(flags.output,
               flags.json  ? log_json(report)
               : flags.csv ? log_csv(report)
                           : log_text(report));
}

void import_files(const ImportFlags& flags) {
  const auto traces = std::ranges::count_if(flags.files, [](const std::string& file) {
    return names_a_trace(file) || names_an_nsys_recording(file);
  });
  if (traces == std::ssize(flags.files)) return import_traces(flags);
  if (traces > 0)
    throw UserError("import takes one log, or the traces of one step's ranks, not both");
  if (flags.files.size() > 1)
    throw UserError("import takes one log at a time; several files are traces of ranks");
  import_log(flags);
}

}  // namespace

void add_import_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* command = app.add_subcommand(
      "import", "What a trainer's log says: steady step, warm-up, stalls, facts");
  command
      ->add_option("log",
                   flags->files,
                   help_text("log of a training run, of any trainer (.gz too); or "
                             "profiler traces or Nsight Systems' .sqlite, one a rank"))
      ->required();
  CLI::Option* json = command->add_flag("--json", flags->json, "for machines");
  command->add_flag("--csv", flags->csv, "one row a step")->excludes(json);
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->footer(
      "Example:\n"
      "  stepsight import train.log\n"
      "  stepsight import rank0.json.gz rank1.json.gz   (torch.profiler's traces of one run)\n"
      "  stepsight import recording.sqlite               (nsys export --type sqlite)");
  command->callback([flags] { import_files(*flags); });
}

}  // namespace stepsight
