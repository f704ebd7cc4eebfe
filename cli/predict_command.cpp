#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/profiles.h"
#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/scenario_file.h"
#include "model/io/scenario_keys.h"
#include "reports/predict_report.h"
#include "simulate/link.h"

namespace stepsight {

namespace {

struct PredictFlags {
  std::string file;
  std::string output;
  std::map<std::string, std::string> keys;  // scenario key -> value, as given
  bool json = false;
  bool csv = false;
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
  for (const auto& [key, value] : flags.keys) {
    if (!value.empty()) keys.push_back({flag_of(key), key, value});
  }
  if (flags.file.empty() && keys.empty()) {
    throw UserError("predict needs a scenario file, or flags: --model, --gpu, --gpus, --batch, --seq");
  }
  return flags.file.empty() ? scenario_from_flags(keys) : read_scenario(flags.file, keys);
}

// With several GPUs and no link given, the profile's only one is taken, and said.
void choose_link(PredictFlags& flags, Profiles& profiles, std::vector<std::string>& notes) {
  const bool flags_only = flags.file.empty();
  const bool several = flags.keys["gpus"].find_first_not_of(" 1") != std::string::npos;
  if (!flags_only || !several || !flags.keys["link"].empty() || flags.keys["gpu"].empty()) return;
  const std::vector<std::string> links = link_names(profiles.get(flags.keys["gpu"]));
  if (links.size() != 1) return;
  flags.keys["link"] = links.front();
  notes.push_back("No --link was given: took " + links.front() + ", the one that was measured.");
}

void predict_command(PredictFlags flags) {
  Profiles profiles;
  PredictReport report;
  choose_link(flags, profiles, report.notes);
  const ScenarioFile file = read(flags);
  report.title = file.title;
  report.axes = file.axes;
  for (std::size_t i = 0; i < file.points.size(); ++i) {
    std::vector<std::string> values;
    const std::vector<std::size_t> at = coordinates(file, i);
    for (std::size_t a = 0; a < at.size(); ++a) values.push_back(file.axis_values[a][at[a]]);
    report.coordinates.push_back(std::move(values));
  }
  report.points =
      study(file.points, [&](const std::string& name) -> const GpuProfile& { return profiles.get(name); });
  const GpuProfile& gpu = profiles.get(file.points.back().cluster.gpu);
  write_output(flags.output, flags.json  ? predict_json(report)
                             : flags.csv ? predict_csv(report)
                                         : predict_text(report, gpu));
}

}  // namespace

void add_predict_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* command = app.add_subcommand("predict", "Step time, speed-up and efficiency on N GPUs");
  command->add_option("scenario", flags->file, "scenario file (scenarios/README.md lists its keys)");
  CLI::Option* json = command->add_flag("--json", flags->json, "for machines");
  command->add_flag("--csv", flags->csv, "one row a point")->excludes(json);
  command->add_option("-o,--output", flags->output, "write to this file instead");
  for (const ScenarioKey& key : scenario_keys()) {
    // The architecture of an own model is a table in a scenario, not a heap of flags.
    if (key.section == "model" && key.name != "name" && key.name != "vocab") continue;
    std::string meaning(key.meaning);
    if (!key.fallback.empty() && key.fallback != "-") meaning += " (default " + std::string(key.fallback) + ")";
    command->add_option(flag_of(key.name), flags->keys[std::string(key.name)], help_text(meaning))
        ->group("Scenario keys, each may be a list: 1,2,4,8");
  }
  command->footer(
      "Example:\n"
      "  stepsight predict --model llama2-7b --gpu h200-sxm --gpus 1,2,4,8 --batch 4 \\\n"
      "    --seq 2048");
  command->callback([flags] { predict_command(*flags); });
}

}  // namespace stepsight
