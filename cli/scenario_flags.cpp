// What of it knows the command line's library; the rest is in scenario_points.cpp.
#include "cli/scenario_flags.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/wrap.h"
#include "model/io/scenario_keys.h"

namespace stepsight {

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

}  // namespace stepsight
