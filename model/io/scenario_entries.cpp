#include "model/io/scenario_entries.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "model/errors.h"

namespace stepsight {
namespace {

constexpr std::array<std::string_view, 10> sections{
    "model", "training", "cluster", "parallel", "ranks", "loader", "stalls", "run", "cost", "plan"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> rivals{
    {{"batch", "global_batch"},
     {"name", "config"},
     {"nodes", "gpus_per_node"},
     {"tokens", "steps"}}};

std::string written(const Setting& setting) {
  struct Text {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const { return value; }
  };
  return std::visit(Text{}, setting);
}

// Loads what a `name` or `config` means; its own mistakes come with its own places.
ModelShape load_model(const ScenarioKey& key,
                      const std::string& text,
                      Position at,
                      const std::string& flag,
                      ErrorList& errors) {
  std::string name = text;
  if (key.name == "config") {
    const std::filesystem::path folder = std::filesystem::path(errors.file()).parent_path();
    name = (flag.empty() ? folder / text : std::filesystem::path(text)).string();
    if (!name.ends_with(".json")) name += "/config.json";
  }
  try {
    return read_model(name);
  } catch (const UserError& error) {
    if (flag.empty()) {
      errors.add(at, error.what());
    } else {
      errors.add_finished(flag + ": " + error.what());
    }
    return {};
  }
}

void add_value(Entry& entry, const Value& value, const std::string& where, ErrorList& errors) {
  const std::optional<Setting> setting = read_setting(*entry.key, value, where, errors);
  if (!setting) return;
  if (entry.key->set == nullptr) {
    const auto& text = std::get<std::string>(*setting);
    entry.models.push_back(load_model(*entry.key, text, value.at, entry.flag, errors));
  }
  entry.settings.push_back(*setting);
  entry.texts.push_back(written(*setting));
  entry.positions.push_back(value.at);
}

// Remembers that a key was given but is not to be trusted, if reading it noted anything.
void mark_misread(Entries& entries,
                  const ScenarioKey& key,
                  std::size_t errors_before,
                  std::size_t errors_after) {
  if (errors_before == errors_after) return;
  entries.misread.insert(key.name);
  if (key.section == "model") entries.misread.insert("model");
}

void read_key(
    Entries& entries, const ScenarioKey& key, const Value& value, Position at, ErrorList& errors) {
  Entry entry;
  entry.key = &key;
  entry.at = at;
  const std::string where = fmt::format("in [{}]", key.section);
  const std::size_t errors_before = errors.size();
  const auto* items = std::get_if<Array>(&value.data);
  entry.is_axis = items != nullptr;
  if (items == nullptr) {
    add_value(entry, value, where, errors);
  } else {
    if (items->empty()) {
      errors.add(value.at, fmt::format("'{}' {} is an empty array", key.name, where));
    }
    for (const Value& item : *items) add_value(entry, item, where, errors);
  }
  mark_misread(entries, key, errors_before, errors.size());
  if (!entry.settings.empty()) entries.list.push_back(std::move(entry));
}

void read_section(Entries& entries, Table& root, std::string_view name, ErrorList& errors) {
  Table table = root.sub_table(name);
  if (!table.present()) return;
  entries.sections.emplace_back(name, table.position());
  for (const ScenarioKey& key : scenario_keys()) {
    if (key.section != name) continue;
    const Value* value = table.value(key.name);
    if (value != nullptr) read_key(entries, key, *value, value->at, errors);
  }
  if (name == "cluster") {
    Table topology = table.sub_table("topology");
    if (topology.present()) entries.topology = read_topology_table(topology);
  }
  table.finish();
}

// The value that a flag's text stands for, by what its key expects; text that is no number stays
// text, for the reader to complain about.
Value flag_value(const ScenarioKey& key, std::string_view text) {
  if (key.kind == KeyKind::boolean && (text == "true" || text == "false")) {
    return {text == "true", {}};
  }
  const char* const end = text.data() + text.size();
  if (key.kind == KeyKind::integer) {
    std::int64_t integer = 0;
    const auto [at, status] = std::from_chars(text.data(), end, integer);
    if (status == std::errc{} && at == end) return {integer, {}};
  }
  if (key.kind == KeyKind::integer || key.kind == KeyKind::number) {
    double number = 0;
    const auto [at, status] = std::from_chars(text.data(), end, number);
    if (status == std::errc{} && at == end) return {number, {}};
  }
  return {std::string(text), {}};
}

void erase(Entries& entries, std::string_view key) {
  std::erase_if(entries.list, [&](const Entry& entry) { return entry.key->name == key; });
}

void read_flag(Entries& entries, const KeyFlag& flag, ErrorList& errors) {
  const ScenarioKey* key = find_scenario_key(flag.key);
  if (key == nullptr) throw std::logic_error("flag for an unknown key: " + flag.key);
  Entry entry;
  entry.key = key;
  entry.flag = flag.flag;
  ErrorList own(flag.flag);
  std::string_view rest = flag.value;
  while (true) {
    const std::size_t comma = rest.find(',');
    add_value(entry, flag_value(*key, rest.substr(0, comma)), "", own);
    if (comma == std::string_view::npos) break;
    entry.is_axis = true;
    rest.remove_prefix(comma + 1);
  }
  mark_misread(entries, *key, 0, own.size());
  try {
    own.throw_if_any();
  } catch (const UserError& error) {
    errors.add_finished(error.what());
  }
  erase(entries, key->name);
  for (const auto& [one, other] : rivals) {
    if (key->name == one) erase(entries, other);
    if (key->name == other) erase(entries, one);
  }
  if (!entry.settings.empty()) entries.list.push_back(std::move(entry));
}

void check_rivals(const Entries& entries, ErrorList& errors) {
  if (entries.topology && entries.find("topo") != nullptr) {
    errors.add(entries.topology->at, "[cluster.topology] and 'topo' exclude each other: give one");
  }
  for (const auto& [one, other] : rivals) {
    const Entry* second = entries.find(other);
    if (entries.find(one) == nullptr || second == nullptr) continue;
    errors.add(second->at, fmt::format("'{}' and '{}' exclude each other: give one", one, other));
  }
}

}  // namespace

const Entry* Entries::find(std::string_view key) const {
  const auto found = std::find_if(
      list.begin(), list.end(), [&](const Entry& entry) { return entry.key->name == key; });
  return found == list.end() ? nullptr : &*found;
}

Position Entries::section(std::string_view name) const {
  for (const auto& [section, at] : sections) {
    if (section == name) return at;
  }
  return {1, 1};
}

Entries read_entries(const Value& root, std::span<const KeyFlag> flags, ErrorList& errors) {
  Entries entries;
  Table table(root, errors);
  entries.title = table.optional_string("title").value_or("");
  for (const std::string_view section : sections) read_section(entries, table, section, errors);
  table.finish();
  std::stable_sort(entries.list.begin(), entries.list.end(), [](const Entry& a, const Entry& b) {
    return a.at < b.at;
  });
  for (const KeyFlag& flag : flags) read_flag(entries, flag, errors);
  check_rivals(entries, errors);
  return entries;
}

}  // namespace stepsight
