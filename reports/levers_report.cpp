#include "reports/levers_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/text_table.h"

namespace stepsight {

namespace {

// The change of throughput: "+12.3 %".
std::string gain(double speedup) {
  return fmt::format("{:+.0f} %", 100 * (speedup - 1));
}

// "batch 16 on each GPU instead of 8"
std::string change_of(const Lever& lever, const Words& words) {
  const auto value = [&](std::size_t i) {
    return i < lever.values.size() ? lever.values[i] : std::string();
  };
  return words("lever." + std::string(name_of(lever.kind)),
               fmt::arg("to", value(0)),
               fmt::arg("from", value(1)));
}

}  // namespace

std::string levers_text(const std::vector<Lever>& levers, const Words& words) {
  if (levers.empty()) return "";
  TextTable table;
  table.columns = {{words("levers.change"), Align::left},
                   {words("levers.samples")},
                   {words("levers.between")},
                   {words("column.step"), Align::right, 1}};
  bool marked = false;
  for (const Lever& l : levers) {
    marked = marked || !l.same_training;
    table.rows.push_back({change_of(l, words) + (l.same_training ? "" : " *"),
                          gain(1 + l.gain),
                          words("levers.both",
                                fmt::arg("from", gain(l.speedup.p5)),
                                fmt::arg("to", gain(l.speedup.p95))),
                          format_seconds(l.step.value)});
  }
  std::string out = "\n" + wrap(words("levers.title")) + "\n" + table.fitted();
  if (marked) out += wrap(words("levers.marked")) + "\n";
  return out;
}

nlohmann::ordered_json levers_json(const std::vector<Lever>& levers) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  const Words english;
  for (const Lever& l : levers) {
    out.push_back(
        {{"lever", name_of(l.kind)},
         {"change", change_of(l, english)},
         {"key", l.key},
         {"same_training", l.same_training},
         {"step_time_s", l.step.value},
         {"gain", l.gain},
         {"speedup", {{"p5", l.speedup.p5}, {"p50", l.speedup.p50}, {"p95", l.speedup.p95}}}});
  }
  return out;
}

}  // namespace stepsight
