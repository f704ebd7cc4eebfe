#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/profiles.h"
#include "model/errors.h"
#include "model/io/builtin.h"
#include "model/io/link_file.h"
#include "model/io/profile_file.h"
#include "model/io/run_scenario.h"
#include "model/io/runs_csv.h"
#include "reports/validate_report.h"
#include "simulate/predict.h"

namespace stepsight {

namespace {

struct ValidateFlags {
  std::string file;
  std::string output;
  std::string only;
  double max_mape = 0;
  bool json = false;
  bool rows = false;
};

// Links by name, each looked up once.
class Links {
 public:
  std::shared_ptr<const LinkFacts> get(const std::string& name) {
    auto& kept = links_[name];
    if (!kept) kept = find_link(name, "");
    return kept;
  }

 private:
  std::map<std::string, std::shared_ptr<const LinkFacts>> links_;
};

void predict_row(const MeasuredRun& run, Profiles& profiles, Links& links, Validation& out) {
  const auto answer = scenario_of(run);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) {
    ++out.refused[refusal->reason];
    return;
  }
  Scenario scenario = std::get<Scenario>(answer);
  const GpuProfile* gpu = profiles.find(scenario.cluster.gpu);
  if (gpu == nullptr) {
    ++out.refused["no profile of " + scenario.cluster.gpu];
    return;
  }
  try {
    if (scenario.cluster.gpus > 1) scenario.cluster.facts = links.get(scenario.cluster.link);
    const Prediction p = predict(scenario, *gpu);
    out.points.push_back({run.id,
                          {{"source", run.source},
                           {"gpu", run.std_gpu},
                           {"model", run.model},
                           {"table", run.source_table}},
                          run.step_time_s,
                          p.step.value,
                          p.host_bound,
                          run.peak_memory.value_or(0),
                          p.memory.peak});
  } catch (const UserError&) {
    ++out.refused["link " + scenario.cluster.link + " not measured for this group"];
  }
}

void validate(const ValidateFlags& flags, int& exit_code) {
  const std::vector<MeasuredRun> runs = read_runs(flags.file);
  Validation validation;
  Profiles profiles;
  Links links;
  for (const MeasuredRun& run : runs) {
    if (!flags.only.empty() && !run.id.starts_with(flags.only)) continue;
    ++validation.rows;
    predict_row(run, profiles, links, validation);
  }
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
  command->add_flag("--json", flags->json, "for machines");
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->footer("Example:\n  stepsight validate runs.csv --only H2 --rows");
  command->callback([flags, &exit_code] { validate(*flags, exit_code); });
}

}  // namespace stepsight
