#include "cli/report_what_if.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "model/errors.h"
#include "simulate/link.h"

namespace stepsight {

namespace {

constexpr std::size_t most_bytes = 1'200'000;  // of files that a page carries: two cards' profiles

using Keys = std::vector<std::pair<std::string, std::string>>;

class Controls {
 public:
  Controls(const ScenarioFlags& flags,
           const Scenario& focus,
           Profiles& profiles,
           const Words& words)
      : flags_(flags), s_(focus), profiles_(profiles), words_(words) {}

  std::vector<WhatIfControl> all() {
    gpus();
    batch();
    link();
    price("rent_per_gpu_hour", "page.rent", s_.cost.rent_per_gpu_hour);
    price("gpu_price", "page.card_price", s_.cost.gpu_price);
    return std::move(out_);
  }

 private:
  // Halves and doubles of `own`, and powers of two.
  static std::vector<std::int64_t> counts_around(std::int64_t own, std::int64_t most) {
    std::vector<std::int64_t> out;
    for (std::int64_t n = 1; n <= most; n *= 2) out.push_back(n);
    for (std::int64_t n = own; n <= most; n *= 2) out.push_back(n);
    for (std::int64_t n = own; n % 2 == 0; n /= 2) out.push_back(n / 2);
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  // Can the question be asked with these keys in place of its own?
  [[nodiscard]] bool can_ask(const Keys& keys) const {
    ScenarioFlags flags = flags_;
    for (const auto& [key, value] : keys) flags.give(key, value);
    try {
      std::vector<std::string> notes;
      choose_link(flags, profiles_, notes);
      for (const Scenario& point : read_question(flags, "report").points) {
        resolve_link(profiles_.get(point.cluster.gpu), point.cluster);
      }
      return true;
    } catch (const UserError&) {
      return false;
    }
  }

  void add(const char* key,
           const char* title,
           const std::vector<WhatIfValue>& values,
           const std::string& own) {
    WhatIfControl control{key, words_(title), {}, 0};
    for (const WhatIfValue& value : values) {
      const bool is_own = value.text == own;
      if (!is_own && !can_ask(value.keys)) continue;
      if (is_own) control.at = control.values.size();
      control.values.push_back(is_own ? WhatIfValue{own, {}} : value);
    }
    if (control.values.size() > 1) out_.push_back(std::move(control));
  }

  void gpus() {
    const std::int64_t own = s_.cluster.gpus;
    std::vector<WhatIfValue> values;
    for (const std::int64_t n : counts_around(own, own * 16)) {
      WhatIfValue value{std::to_string(n), {{"gpus", std::to_string(n)}}};
      // More GPUs are more machines of the same kind.
      if (s_.cluster.nodes > 1)
        value.keys.emplace_back("gpus_per_node", std::to_string(own / s_.cluster.nodes));
      values.push_back(std::move(value));
    }
    add("gpus", "page.gpus", values, std::to_string(own));
  }

  void batch() {
    const bool global = s_.training.global_batch > 0;
    const std::int64_t own = global ? s_.training.global_batch : s_.training.batch;
    const char* key = global ? "global_batch" : "batch";
    std::vector<WhatIfValue> values;
    for (const std::int64_t n : counts_around(own, std::max<std::int64_t>(64, own * 8))) {
      values.push_back({std::to_string(n), {{key, std::to_string(n)}}});
    }
    add(key, global ? "page.global_batch" : "page.batch", values, std::to_string(own));
  }

  void link() {
    if (s_.cluster.gpus < 2 || s_.cluster.link.starts_with("loopback")) return;
    const double own = s_.cluster.link_speed;
    std::vector<WhatIfValue> values;
    for (const double factor : {0.1, 0.2, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0}) {
      values.push_back(
          {fmt::format("{:g}x", own * factor), {{"link_speed", fmt::format("{}", own * factor)}}});
    }
    add("link_speed", "page.link_speed", values, fmt::format("{:g}x", own));
  }

  void price(const char* key, const char* title, const std::optional<double>& own) {
    if (!own || !(*own > 0)) return;
    const std::string currency = s_.cost.currency.empty() ? "USD" : s_.cost.currency;
    const auto text = [&](double amount) { return fmt::format("{:.4g} {}", amount, currency); };
    std::vector<WhatIfValue> values;
    for (const double factor : {0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0}) {
      values.push_back({text(*own * factor), {{key, fmt::format("{}", *own * factor)}}});
    }
    add(key, title, values, text(*own));
  }

  const ScenarioFlags& flags_;
  const Scenario& s_;
  Profiles& profiles_;
  const Words& words_;
  std::vector<WhatIfControl> out_;
};

}  // namespace

std::optional<WhatIf> what_if_of(const ScenarioFlags& flags,
                                 const Scenario& focus,
                                 Profiles& profiles,
                                 const FilesRead& files,
                                 const WebFiles& web,
                                 const Words& words) {
  WhatIf out;
  out.controls = Controls(flags, focus, profiles, words).all();
  out.scenario_file = flags.file;
  for (const std::string& key : flags.given) out.keys.emplace_back(key, flags.keys.at(key));
  if (const char* own = std::getenv("STEPSIGHT_DATA")) out.data_folder = own;
  std::size_t bytes = 0;
  for (const auto& [path, text] : files.by_path()) {
    bytes += text.size();
    out.files.emplace_back(path, text);
  }
  out.program = web.program;
  out.code = web.code;
  if (bytes > most_bytes || out.controls.empty()) return std::nullopt;
  return out;
}

}  // namespace stepsight
