#include "cli/scenario_text.h"

#include <algorithm>
#include <vector>

#include "model/io/read_file.h"
#include "model/io/scenario_keys.h"

namespace stepsight {

namespace {

bool is_word(const ScenarioKey& key) {
  return key.kind == KeyKind::word || key.kind == KeyKind::text;
}

// A value as TOML: an array where it has commas.
std::string toml_value(const ScenarioKey& key, const std::string& value) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = value.find(','); end != std::string::npos; end = value.find(',', begin)) {
    parts.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(value.substr(begin));
  std::string out;
  for (std::string part : parts) {
    if (is_word(key)) {
      std::string quoted = "\"";
      for (const char c : part) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
      }
      part = quoted + "\"";
    }
    out += (out.empty() ? "" : ", ") + part;
  }
  return parts.size() > 1 ? "[" + out + "]" : out;
}

// One word of a shell's command line.
std::string quoted(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string scenario_text_of(const ScenarioFlags& flags) {
  if (!flags.file.empty()) return read_file(flags.file, megabyte, "a scenario");
  std::string out;
  std::string_view section;
  for (const ScenarioKey& key : scenario_keys()) {
    const std::string name(key.name);
    if (!flags.has(name)) continue;
    if (key.section != section) {
      out += (out.empty() ? "[" : "\n[") + std::string(key.section) + "]\n";
      section = key.section;
    }
    out += name + " = " + toml_value(key, flags.keys.at(name)) + "\n";
  }
  return out;
}

std::string command_of(const ScenarioFlags& flags) {
  if (flags.file.empty()) return "";
  std::string out = "stepsight predict " + quoted(flags.file);
  for (const std::string& key : flags.given)
    out += " " + flag_of(key) + " " + quoted(flags.keys.at(key));
  return out;
}

}  // namespace stepsight
