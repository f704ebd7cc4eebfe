// Every key that a scenario file may hold, as one table: it drives reading, flags, the
// documentation (scenarios/README.md) and its test. The keys of [model] are those of a model file.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "model/io/table.h"
#include "model/scenario.h"

namespace stepsight {

enum class KeyKind { integer, number, boolean, word, text };

// A value that was checked against its key; a word is kept as its text.
using Setting = std::variant<bool, std::int64_t, double, std::string>;

struct ScenarioKey {
  std::string_view section;  // "model", "training", "cluster", "parallel", "run", "cost", "plan"
  std::string_view name;     // unique over all sections
  KeyKind kind;
  double least = 0;  // of an integer or a number
  double most = 0;
  std::span<const std::string_view> words;  // of a word
  void (*set)(Scenario&, const Setting&);   // null for `name` and `config`: they load a file
  std::string_view fallback;                // what holds without the key, for people
  std::string_view meaning;                 // one line, for people
};

std::span<const ScenarioKey> scenario_keys();

// The key of that name, null when there is none.
const ScenarioKey* find_scenario_key(std::string_view name);

// "integer 1 to 1000", "adamw, sgd or sgd-momentum", ...: the values of a key, for people.
std::string describe_values(const ScenarioKey& key);

// One value of a key; a mistake is noted in `errors` at the value's place. `where` as in ValueName.
std::optional<Setting> read_setting(const ScenarioKey& key,
                                    const Value& value,
                                    const std::string& where,
                                    ErrorList& errors);

}  // namespace stepsight
