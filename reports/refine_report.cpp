#include "reports/refine_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/json_parts.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

std::string factor(double change) {
  return fmt::format("{:+.0f} %", 100 * (std::exp(change) - 1));
}

std::string spread(double sd) {
  return fmt::format("+-{:.0f} %", 100 * (std::exp(sd) - 1));
}

std::string error(double predicted, double measured) {
  return fmt::format("{:+.1f} %", 100 * (predicted / measured - 1));
}

}  // namespace

std::string refine_text(const RefineReport& report) {
  const Refinement& r = report.refinement;
  TextTable inputs;
  inputs.columns = {
      {"input of " + report.gpu, Align::left}, {"time"}, {"known before"}, {"known now"}};
  for (const RefinedInput& i : r.inputs) {
    inputs.rows.push_back({std::string(step_input_names[index(i.input)]),
                           factor(i.change),
                           spread(i.sd_before),
                           spread(i.sd_after)});
  }
  TextTable steps;
  steps.columns = {{"run", Align::left}, {"measured"}, {"before"}, {"after"}, {"left out"}};
  constexpr std::size_t most_rows = 100;
  for (const RefinedStep& s : r.steps) {
    if (steps.rows.size() == most_rows) break;
    steps.rows.push_back({s.id.substr(0, 30),
                          format_seconds(s.measured),
                          error(s.before, s.measured),
                          error(s.after, s.measured),
                          error(s.left_out, s.measured)});
  }
  std::string out = inputs.text() + "\n" + steps.text() + "\n";
  out += wrap(fmt::format("Mean error {} before; {} with each run predicted from the others alone.",
                          format_percent(r.error_before),
                          format_percent(r.error_left_out))) +
         "\n";
  for (const auto& [reason, n] : report.refused)
    out += fmt::format("  {} refused: {}\n", n, reason);
  for (const std::string& file : report.links) {
    out += wrap("The refined link is for --link: " + file) + "\n";
  }
  return out +
         wrap(
             "time: what the runs add to that input's time; known: one standard deviation; left "
             "out: the "
             "error where a run taught nothing to its own prediction.") +
         "\n";
}

std::string refine_json(const RefineReport& report) {
  const Refinement& r = report.refinement;
  nlohmann::ordered_json out{{"schema", 1}, {"gpu", report.gpu}};
  out["inputs"] = nlohmann::ordered_json::array();
  for (const RefinedInput& i : r.inputs) {
    out["inputs"].push_back({{"input", step_input_names[index(i.input)]},
                             {"time_factor", std::exp(i.change)},
                             {"log_sd_before", i.sd_before},
                             {"log_sd_after", i.sd_after}});
  }
  out["runs"] = nlohmann::ordered_json::array();
  for (const RefinedStep& s : r.steps) {
    out["runs"].push_back({{"id", s.id},
                           {"measured_s", s.measured},
                           {"before_s", s.before},
                           {"after_s", s.after},
                           {"left_out_s", s.left_out}});
  }
  out["noise_log_sd"] = r.noise;
  out["error_before"] = r.error_before;
  out["error_left_out"] = r.error_left_out;
  out["refused"] = report.refused;
  out["links"] = report.links;
  return json_text(out) + "\n";
}

}  // namespace stepsight
