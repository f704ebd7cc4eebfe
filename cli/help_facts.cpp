#include "cli/help_facts.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/scenario_flags.h"
#include "model/io/builtin.h"
#include "model/io/scenario_keys.h"

namespace stepsight {

namespace {

// Help texts are broken into lines for a terminal.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// Names of models, cards and links, the words of a key, and what else is known of a flag's values.
std::vector<std::string> values_of(const std::string& flag) {
  if (flag == "--model") return known_names("models", ".toml");
  if (flag == "--gpu") {
    std::vector<std::string> names = known_names("gpus", ".toml");
    for (std::string& own : known_names("profiles", ".toml")) names.push_back(std::move(own));
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }
  if (flag == "--link") return known_names("links", ".toml");
  if (flag == "--lang") return {"en", "zh"};
  if (flag == "--format") return {"html", "md", "csv", "json"};
  for (const ScenarioKey& key : scenario_keys()) {
    if (flag_of(key.name) != flag) continue;
    if (key.kind == KeyKind::boolean) return {"true", "false"};
    return {key.words.begin(), key.words.end()};
  }
  return {};
}

FlagFacts facts_of(const CLI::Option& option) {
  FlagFacts out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.meaning = one_line(option.get_description());
  if (option.get_items_expected_max() > 0) {
    out.value = option.get_type_name().substr(0, option.get_type_name().find(':'));
    if (out.value.empty() || out.value.find(' ') != std::string::npos) out.value = "VALUE";
    out.values = values_of(out.names.back());
  }
  return out;
}

}  // namespace

ProgramFacts facts_of(const CLI::App& program) {
  ProgramFacts out{program.get_description(), program.get_footer(), {}};
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    CommandFacts facts{
        command->get_name(), one_line(command->get_description()), command->get_footer(), {}, {}};
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional()) {
        facts.arguments.push_back(option->get_name(true));
      } else {
        facts.flags.push_back(facts_of(*option));
      }
    }
    out.commands.push_back(std::move(facts));
  }
  return out;
}

}  // namespace stepsight
