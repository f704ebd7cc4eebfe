#include "cli/report_what_if.h"

#include <algorithm>

#include "model/errors.h"
#include "model/io/builtin.h"
#include "simulate/link.h"

namespace stepsight {

namespace {

// 1, 2, 4, ... up to `most`, with `own` among them.
std::vector<std::int64_t> powers_with(std::int64_t own, std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t n = 1; n <= std::max(own, most); n *= 2) out.push_back(n);
  if (std::ranges::find(out, own) == out.end()) out.push_back(own);
  std::ranges::sort(out);
  return out;
}

WhatIfControl control(std::string key, std::string title, const std::vector<std::int64_t>& values,
                      std::int64_t own) {
  WhatIfControl out{std::move(key), std::move(title), {}, 0};
  for (const std::int64_t v : values) {
    if (v == own) out.at = out.values.size();
    out.values.push_back(std::to_string(v));
  }
  return out;
}

// Links that can take the place of the scenario's, by what an all-reduce of 64 MB among its GPUs takes.
WhatIfControl link_control(const Scenario& s, const GpuProfile& gpu, const Words& words) {
  std::vector<std::string> names = known_names("links", ".toml");
  for (std::string& own : link_names(gpu)) names.push_back(std::move(own));
  names.push_back(s.cluster.link);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::pair<double, std::string>> by_time;
  for (const std::string& name : names) {
    try {
      Cluster cluster = s.cluster;
      cluster.link = name;
      if (name != s.cluster.link) cluster.facts.reset();
      const Link link = resolve_link(gpu, cluster);
      by_time.emplace_back(message_time(link, gpu, Bytes{64e6}).time.value, name);
    } catch (const UserError&) {
      // It does not join so many GPUs or machines.
    }
  }
  std::ranges::sort(by_time, std::ranges::greater());  // the fastest to the right
  WhatIfControl out{"link", words("page.link"), {}, 0};
  for (const auto& [time, name] : by_time) {
    if (name == s.cluster.link) out.at = out.values.size();
    out.values.push_back(name);
  }
  return out;
}

bool is_built_in(const std::optional<NamedFile>& file) {
  return file && file->path.starts_with("built-in:");
}

}  // namespace

std::optional<WhatIf> what_if_of(const ScenarioFlags& flags,
                                 const std::string& scenario_text,
                                 const StudyPoint& focus,
                                 const GpuProfile& gpu,
                                 const WebFiles& web,
                                 const Words& words) {
  const Scenario& s = focus.scenario;
  if (!s.cluster.topo.empty() || flags.has("config") || scenario_text.find("config") != std::string::npos) {
    return std::nullopt;
  }
  WhatIf out;
  out.scenario_name = flags.file.empty() ? "scenario.toml" : flags.file;
  out.scenario_text = scenario_text;
  out.program = web.program;
  out.data = web.data;
  for (const std::string& key : flags.given) out.flags.emplace_back(key, flags.keys.at(key));
  // A card's own profile travels with the page; what is built in is there already.
  for (const auto& [folder, name, ending] :
       {std::tuple<std::string, std::string, std::string>{"profiles", s.cluster.gpu, ".toml"},
        {"profiles", s.cluster.gpu, ".points.csv"},
        {"gpus", s.cluster.gpu, ".toml"}}) {
    const auto file = find_named_file_if_any(folder, name, ending);
    if (!file || is_built_in(file)) continue;
    out.files.emplace_back("scenarios/" + folder + "/" + name + ending, file->text);
  }
  const std::int64_t gpus = s.cluster.gpus;
  out.controls.push_back(control("gpus", words("page.gpus"), powers_with(gpus, gpus * 16), gpus));
  const bool global = s.training.global_batch > 0;
  const std::int64_t batch = global ? s.training.global_batch : s.training.batch;
  out.controls.push_back(control(global ? "global_batch" : "batch", words("page.batch"),
                                 powers_with(batch, std::max<std::int64_t>(64, batch * 8)), batch));
  if (!s.cluster.link.empty() && !s.cluster.link.starts_with("loopback")) {
    out.controls.push_back(link_control(s, gpu, words));
  }
  return out;
}

}  // namespace stepsight
