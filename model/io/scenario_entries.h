// The inner half of reading a scenario: which keys were given, with which values, where.
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/io/model_file.h"
#include "model/io/scenario_file.h"
#include "model/io/scenario_keys.h"
#include "model/io/topology_table.h"

namespace stepsight {

// One key that was given, with one value or, on an axis, several.
struct Entry {
  const ScenarioKey* key = nullptr;
  std::vector<Setting> settings;
  std::vector<std::string> texts;   // the settings as they were written, for people
  std::vector<Position> positions;  // of the settings; line 0 when they come from a flag
  std::vector<ModelShape> models;   // of `name` and `config`: what each setting loaded
  bool is_axis = false;
  Position at;       // of the key: the axes are in this order
  std::string flag;  // empty when it comes from the file
};

struct Entries {
  std::string title;
  std::vector<Entry> list;                                      // in order of appearance
  std::vector<std::pair<std::string_view, Position>> sections;  // of the tables in the file
  std::optional<TopologyTable> topology;                        // [cluster.topology]
  std::set<std::string_view> misread;  // keys with a mistake; "model" when one of [model] has one

  const Entry* find(std::string_view key) const;
  Position section(std::string_view name) const;  // of the whole file when it lacks the table
};

// Reads all tables of the file, then lays the flags over them. Mistakes are noted in `errors`.
Entries read_entries(const Value& root, std::span<const KeyFlag> flags, ErrorList& errors);

}  // namespace stepsight
