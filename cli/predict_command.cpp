#include <algorithm>
#include <map>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/predict_trace.h"
#include "cli/profiles.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/scenario_file.h"
#include "model/io/scenario_keys.h"
#include "model/io/trace_file.h"
#include "reports/predict_report.h"
#include "simulate/link.h"

namespace stepsight {

namespace {

struct PredictFlags {
  std::string file;
  std::string output;
  std::map<std::string, std::string> keys;  // scenario key -> value
  std::vector<std::string> given;           // the keys on the command line, in its order
  bool json = false;
  bool csv = false;
  std::optional<std::int64_t> parameters;  // of a traced step
};

// "--model" is the key `name`; the others are called as their keys, with a dash for an underscore.
std::string flag_of(std::string_view key) {
  if (key == "name") return "--model";
  std::string flag = "--" + std::string(key);
  for (char& c : flag) {
    if (c == '_') c = '-';
  }
  return flag;
}

ScenarioFile read(const PredictFlags& flags) {
  std::vector<KeyFlag> keys;
  for (const std::string& key : flags.given) {
    keys.push_back({flag_of(key), key, flags.keys.at(key)});
  }
  if (flags.file.empty() && keys.empty()) {
    throw UserError(
        "predict needs a scenario file, or flags: --model, --gpu, --gpus, --batch, --seq");
  }
  return flags.file.empty() ? scenario_from_flags(keys) : read_scenario(flags.file, keys);
}

bool was_given(const PredictFlags& flags, std::string_view key) {
  return std::ranges::find(flags.given, key) != flags.given.end();
}

// With several GPUs and no link given, the profile's only one is taken, and said.
void choose_link(PredictFlags& flags, Profiles& profiles, std::vector<std::string>& notes) {
  const std::string& gpu = flags.keys["gpu"];
  const bool one_gpu = !was_given(flags, "gpus") || flags.keys["gpus"] == "1";
  const bool one_card = was_given(flags, "gpu") && gpu.find(',') == std::string::npos;
  if (!flags.file.empty() || one_gpu || !one_card || was_given(flags, "link")) return;
  const std::vector<std::string> links = link_names(profiles.get(gpu));
  if (links.size() != 1) return;
  flags.keys["link"] = links.front();
  flags.given.emplace_back("link");
  notes.push_back("No --link was given: took " + links.front() + ", the only one in the profile.");
}

// The order in which the axes of a sweep change is that of the flags.
void note_given(PredictFlags& flags, const CLI::App& command) {
  for (const CLI::Option* option : command.parse_order()) {
    for (const auto& [key, value] : flags.keys) {
      if (option->check_name(flag_of(key))) flags.given.push_back(key);
    }
  }
}

// Figures that nobody measured are not passed off as measured.
void note_link(const Scenario& scenario, const GpuProfile& gpu, std::vector<std::string>& notes) {
  const Link link = resolve_link(gpu, scenario.cluster);
  if (link.kind != Link::Kind::collective || link.origin == CurveOrigin::measured) return;
  notes.push_back(scenario.cluster.link + ": " + std::string(describe(link.origin)) +
                  ". An all-reduce sweep of the machine, given to `stepsight fit --link`, would "
                  "put a measurement in its place.");
}

// A trace in place of a model.
std::optional<TraceQuestion> trace_question(const PredictFlags& flags) {
  const auto model = flags.keys.find("name");
  if (!was_given(flags, "name") || !names_a_trace(model->second)) {
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
  const ScenarioFile file = read(flags);
  report.title = file.title;
  report.axes = file.axes;
  for (std::size_t i = 0; i < file.points.size(); ++i) {
    std::vector<std::string> values;
    const std::vector<std::size_t> at = coordinates(file, i);
    for (std::size_t a = 0; a < at.size(); ++a) values.push_back(file.axis_values[a][at[a]]);
    report.coordinates.push_back(std::move(values));
  }
  report.points = study(file.points, [&](const std::string& name) -> const GpuProfile& {
    return profiles.get(name);
  });
  const GpuProfile& gpu = profiles.get(report.points[focus_of(report)].scenario.cluster.gpu);
  note_link(report.points[focus_of(report)].scenario, gpu, report.notes);
  write_output(flags.output,
               flags.json  ? predict_json(report)
               : flags.csv ? predict_csv(report)
                           : predict_text(report, gpu));
}

}  // namespace

void add_predict_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* command = app.add_subcommand("predict", "Step time, speed-up and efficiency on N GPUs");
  command->add_option(
      "scenario", flags->file, "scenario file (scenarios/README.md lists its keys)");
  CLI::Option* json = command->add_flag("--json", flags->json, "for machines");
  command->add_flag("--csv", flags->csv, "one row a point")->excludes(json);
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->add_option("--params",
                      flags->parameters,
                      help_text("parameters of a traced step whose trace records no shapes"))
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  for (const ScenarioKey& key : scenario_keys()) {
    // The architecture of an own model is a table in a scenario, not a heap of flags.
    if (key.section == "model" && key.name != "name" && key.name != "vocab") continue;
    std::string meaning(key.meaning);
    if (!key.fallback.empty() && key.fallback != "-")
      meaning += " (default " + std::string(key.fallback) + ")";
    command->add_option(flag_of(key.name), flags->keys[std::string(key.name)], help_text(meaning))
        ->group("Scenario keys, each may be a list: 1,2,4,8");
  }
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
