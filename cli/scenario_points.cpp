// What needs no command line of cli/scenario_flags.h: the page's own program has none.
#include <algorithm>

#include "cli/scenario_flags.h"
#include "model/errors.h"
#include "simulate/irregular_step.h"
#include "simulate/link.h"

namespace stepsight {

bool ScenarioFlags::has(std::string_view key) const {
  return std::ranges::find(given, key) != given.end();
}

void ScenarioFlags::give(const std::string& key, const std::string& value) {
  if (!has(key)) given.push_back(key);
  keys[key] = value;
}

std::string flag_of(std::string_view key) {
  if (key == "name") return "--model";
  std::string flag = "--" + std::string(key);
  for (char& c : flag) {
    if (c == '_') c = '-';
  }
  return flag;
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

void note_link(const Scenario& scenario, const GpuProfile& gpu, std::vector<std::string>& notes) {
  const Link link = resolve_link(gpu, scenario.cluster);
  if (link.kind != Link::Kind::collective || link.origin == CurveOrigin::measured) return;
  notes.push_back(scenario.cluster.link + ": " + std::string(describe(link.origin)) +
                  ". An all-reduce sweep of the machine, given to `stepsight fit --link`, would "
                  "put a measurement in its place.");
}

std::vector<std::vector<std::string>> coordinates_of(const ScenarioFile& file) {
  std::vector<std::vector<std::string>> out;
  out.reserve(file.points.size());
  for (std::size_t i = 0; i < file.points.size(); ++i) {
    std::vector<std::string> values;
    const std::vector<std::size_t> at = coordinates(file, i);
    for (std::size_t a = 0; a < at.size(); ++a) values.push_back(file.axis_values[a][at[a]]);
    out.push_back(std::move(values));
  }
  return out;
}

}  // namespace stepsight
