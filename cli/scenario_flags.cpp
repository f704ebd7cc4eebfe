#include "cli/scenario_flags.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/wrap.h"
#include "model/errors.h"
#include "model/io/scenario_keys.h"
#include "simulate/irregular_step.h"
#include "simulate/link.h"

namespace stepsight {

bool ScenarioFlags::has(std::string_view key) const {
  return std::ranges::find(given, key) != given.end();
}

std::string flag_of(std::string_view key) {
  if (key == "name") return "--model";
  std::string flag = "--" + std::string(key);
  for (char& c : flag) {
    if (c == '_') c = '-';
  }
  return flag;
}

void add_key_flags(CLI::App& command,
                   ScenarioFlags& flags,
                   std::span<const std::string_view> sections,
                   const std::string& heading) {
  for (const ScenarioKey& key : scenario_keys()) {
    // The architecture of an own model is a table in a scenario, not a heap of flags.
    if (key.section == "model" && key.name != "name" && key.name != "vocab") continue;
    if (!sections.empty() && std::ranges::find(sections, key.section) == sections.end()) continue;
    std::string meaning(key.meaning);
    if (!key.fallback.empty() && key.fallback != "-")
      meaning += " (default " + std::string(key.fallback) + ")";
    command.add_option(flag_of(key.name), flags.keys[std::string(key.name)], help_text(meaning))
        ->group(heading);
  }
}

void add_scenario_flags(CLI::App& command, ScenarioFlags& flags) {
  command.add_option("scenario", flags.file, "scenario file (scenarios/README.md lists its keys)");
  add_key_flags(command, flags, {}, "Scenario keys, each may be a list: 1,2,4,8");
}

void note_given(ScenarioFlags& flags, const CLI::App& command) {
  for (const CLI::Option* option : command.parse_order()) {
    for (const auto& [key, value] : flags.keys) {
      if (option->check_name(flag_of(key))) flags.given.push_back(key);
    }
  }
}

void choose_link(ScenarioFlags& flags, Profiles& profiles, std::vector<std::string>& notes) {
  const std::string& gpu = flags.keys["gpu"];
  const bool one_gpu = !flags.has("gpus") || flags.keys["gpus"] == "1";
  const bool one_card = flags.has("gpu") && gpu.find(',') == std::string::npos;
  if (!flags.file.empty() || one_gpu || !one_card || flags.has("link")) return;
  const std::vector<std::string> links = link_names(profiles.get(gpu));
  if (links.size() != 1) return;
  flags.keys["link"] = links.front();
  flags.given.emplace_back("link");
  notes.push_back("No --link was given: took " + links.front() + ", the only one in the profile.");
}

namespace {

// Another kind of card among the GPUs becomes how much longer it computes.
void settle_cards(ScenarioFile& file) {
  Profiles profiles;
  for (Scenario& point : file.points) {
    const std::string& other = point.irregular.slowest_gpu;
    if (other.empty()) continue;
    const GpuProfile& card = profiles.get(point.cluster.gpu);
    point.irregular.slow_factor *= card_slowdown(point, card, profiles.get(other));
  }
}

}  // namespace

std::vector<KeyFlag> key_flags(const ScenarioFlags& flags) {
  std::vector<KeyFlag> keys;
  for (const std::string& key : flags.given) {
    keys.push_back({flag_of(key), key, flags.keys.at(key)});
  }
  return keys;
}

ScenarioFile read_question(const ScenarioFlags& flags, std::string_view command) {
  const std::vector<KeyFlag> keys = key_flags(flags);
  if (flags.file.empty() && keys.empty()) {
    throw UserError(std::string(command) +
                    " needs a scenario file, or flags: --model, --gpu, --gpus, --batch, --seq");
  }
  ScenarioFile file =
      flags.file.empty() ? scenario_from_flags(keys) : read_scenario(flags.file, keys);
  settle_cards(file);
  return file;
}

}  // namespace stepsight
