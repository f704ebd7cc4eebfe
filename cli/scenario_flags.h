// The question of a command on its command line: a scenario file, keys in place of its own, or keys
// alone.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profiles.h"
#include "model/io/scenario_file.h"

namespace CLI {
class App;
}

namespace stepsight {

struct ScenarioFlags {
  std::string file;
  std::map<std::string, std::string> keys;  // scenario key -> value
  std::vector<std::string> given;           // the keys on the command line, in its order

  [[nodiscard]] bool has(std::string_view key) const;
  // As if the key had been on the command line with this value.
  void give(const std::string& key, const std::string& value);
};

// "--model" is the key `name`; the others are called as their keys, with a dash for an underscore.
std::string flag_of(std::string_view key);

// A flag for each key of these sections (none: of all), under a heading of --help, written into
// `flags`, which outlives the parse.
void add_key_flags(CLI::App& command,
                   ScenarioFlags& flags,
                   std::span<const std::string_view> sections,
                   const std::string& heading);
// The positional scenario file and a flag for each key, written into `flags`, which outlives the
// parse.
void add_scenario_flags(CLI::App& command, ScenarioFlags& flags);
// After the parse: which flags were given. The order in which the axes of a sweep change is theirs.
void note_given(ScenarioFlags& flags, const CLI::App& command);

// The keys that were given, as the reader takes them.
std::vector<KeyFlag> key_flags(const ScenarioFlags& flags);

// With several GPUs and no link given, the profile's only one is taken, and said in `notes`.
void choose_link(ScenarioFlags& flags, Profiles& profiles, std::vector<std::string>& notes);

// UserError for a mistake in file or flags, or when `command` was asked nothing.
ScenarioFile read_question(const ScenarioFlags& flags, std::string_view command);

// Figures of a link that nobody measured are not passed off as measured.
void note_link(const Scenario& scenario, const GpuProfile& gpu, std::vector<std::string>& notes);

// What the axes of a sweep are at every point, as they were written.
std::vector<std::vector<std::string>> coordinates_of(const ScenarioFile& file);

}  // namespace stepsight
