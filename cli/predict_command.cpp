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
  bool between = false;
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
  TraceQuestion out{model->second,
                    flags.file,
                    {},
                    flags.parameters,
                    flags.output,
                    flags.json,
                    flags.csv,
                    flags.language,
                    {}};
  for (const std::string& key : flags.given) {
    if (key != "name") out.keys.push_back({flag_of(key), key, flags.keys.at(key)});
  }
  return out;
}

// From the first point to the one that the text explains.
StepsBetween steps_between(const PredictReport& report, Profiles& profiles) {
  const std::size_t to = focus_of(report);
  if (to == 0) {
    throw UserError(
        "--between needs two points, such as --gpus 1,8 or --link A,B: it says how the steps of "
        "the first "
        "and of the last with the most GPUs differ");
  }
  const auto name = [&](std::size_t point) {
    return point_name(
        report.axes, report.coordinates[point], report.coordinates[point == 0 ? to : 0]);
  };
  const auto waterfall = [&](std::size_t point) {
    const StudyPoint& p = report.points[point];
    return waterfall_of(p.scenario, profiles.get(p.scenario.cluster.gpu), p.prediction);
  };
  return {name(0), name(to), waterfall(0), waterfall(to)};
}

void predict_command(PredictFlags flags) {
  Profiles profiles;
  PredictReport report;
  choose_link(flags, profiles, report.notes);
  if (std::optional<TraceQuestion> question = trace_question(flags)) {
    question->levers = flags.levers;
    question->between = flags.between;
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
  if (flags.between) report.between = steps_between(report, profiles);
  if (flags.json) {
    write_output(flags.output, predict_json(report));
  } else if (flags.csv) {
    write_output(flags.output, report.between ? between_csv(*report.between) : predict_csv(report));
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
  command->add_flag(
      "--between",
      flags->between,
      help_text("also how the steps of two points differ, cause by cause: of the first and of "
                "the last with the most GPUs; with --csv that alone"));
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command
      ->add_option("--params",
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
      "  stepsight predict --model gpt2-774m --gpu h200-sxm --gpus 1,8 --between\n"
      "  stepsight predict --model step.trace.json.gz --gpu h200-sxm --gpus 1,2,4,8\n"
      "    (your own step: a torch.profiler trace of it on one GPU, record_shapes=True)");
  command->callback([flags, command] {
    note_given(*flags, *command);
    predict_command(*flags);
  });
}

}  // namespace stepsight
