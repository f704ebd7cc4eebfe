#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/predict_trace.h"
#include "cli/profiles.h"
#include "cli/scenario_flags.h"
#include "cli/terminal.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/model_error_file.h"
#include "model/io/trace_file.h"
#include "reports/predict_report.h"

namespace stepsight {

namespace {

struct PredictFlags : ScenarioFlags {
  std::string output;
  bool json = false;
  bool csv = false;
  bool levers = false;
  std::string language = "en";
  std::optional<std::int64_t> parameters;  // of a traced step
};

// A trace in place of a model.
std::optional<TraceQuestion> trace_question(const PredictFlags& flags) {
  const auto model = flags.keys.find("name");
  if (!flags.has("name") || !names_a_trace(model->second)) {
    if (!flags.parameters) return std::nullopt;
    throw UserError("--params is for a --model that is a trace (.json or .json.gz)");
  }
  TraceQuestion out{
      model->second, flags.file, {}, flags.parameters, flags.output, flags.json, flags.csv, {}};
  for (const std::string& key : flags.given) {
    if (key != "name") out.keys.push_back({flag_of(key), key, flags.keys.at(key)});
  }
  return out;
}

void predict_command(PredictFlags flags) {
  Profiles profiles;
  PredictReport report;
  choose_link(flags, profiles, report.notes);
  if (std::optional<TraceQuestion> question = trace_question(flags)) {
    question->notes = report.notes;
    predict_trace(*question);
    return;
  }
  const ScenarioFile file = read_question(flags, "predict");
  report.title = file.title;
  report.axes = file.axes;
  report.coordinates = coordinates_of(file);
  const ModelError error = read_model_error();
  report.points = study(
      file.points,
      [&](const std::string& name) -> const GpuProfile& { return profiles.get(name); },
      error);
  const StudyPoint& focus = report.points[focus_of(report)];
  const GpuProfile& gpu = profiles.get(focus.scenario.cluster.gpu);
  note_link(focus.scenario, gpu, report.notes);
  if (flags.levers) report.levers = levers(focus.scenario, gpu, focus.prediction, error);
  if (flags.json || flags.csv) {
    write_output(flags.output, flags.json ? predict_json(report) : predict_csv(report));
  } else {
    write_text(flags.output, predict_text(report, gpu, Words(flags.language)));
  }
}

}  // namespace

void add_predict_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* command = app.add_subcommand("predict", "Step time, speed-up and efficiency on N GPUs");
  CLI::Option* json = command->add_flag("--json", flags->json, "for machines");
  command->add_flag("--csv", flags->csv, "one row a point")->excludes(json);
  command->add_flag("--levers",
                    flags->levers,
                    help_text("also what would make a sample faster, each change simulated"));
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->add_option("--params",
                      flags->parameters,
                      help_text("parameters of a traced step whose trace records no shapes"))
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--lang", flags->language, "language of the text: en or zh")
      ->check(CLI::IsMember(language_names()));
  add_scenario_flags(*command, *flags);
  command->footer(
      "Example:\n"
      "  stepsight predict --model llama2-7b --gpu h200-sxm --gpus 1,2,4,8 --batch 4 \\\n"
      "    --seq 2048\n"
      "  stepsight predict --model step.trace.json.gz --gpu h200-sxm --gpus 1,2,4,8\n"
      "    (your own step: a torch.profiler trace of it on one GPU, record_shapes=True)");
  command->callback([flags, command] {
    note_given(*flags, *command);
    predict_command(*flags);
  });
}

}  // namespace stepsight
