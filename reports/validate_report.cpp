#include "reports/validate_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/text_table.h"

namespace stepsight {

namespace {

constexpr const char* groups[] = {"source", "gpu", "model", "table"};
constexpr std::size_t most_values = 40;  // of one group on a terminal; else those of many rows
constexpr std::size_t many_rows = 20;
constexpr std::size_t name_width = 24;

std::string coverage_of(const ErrorSummary& s) {
  return s.intervals > 0 ? format_percent(s.coverage90, 0) : "-";
}

std::vector<std::string> cells(const std::string& name, const ErrorSummary& s) {
  return {name.substr(0, name_width),   format_count(static_cast<double>(s.n)),
          format_percent(s.mape),       format_percent(s.median_ape),
          format_percent(s.p90_ape),    format_percent(s.worst_ape),
          fmt::format("{:+.1f} %", 100 * s.bias), coverage_of(s)};
}

nlohmann::ordered_json json_of(const ErrorSummary& s) {
  return {{"n", s.n},         {"mape", s.mape},           {"median_ape", s.median_ape},
          {"p90_ape", s.p90_ape}, {"worst_ape", s.worst_ape}, {"bias", s.bias}};
}

nlohmann::ordered_json json_of(const Agreement& a) {
  return {{"n", a.n}, {"within", a.within}, {"median", a.median}, {"worst", a.worst}};
}

void add_coverage(nlohmann::ordered_json& out, const ErrorSummary& s) {
  if (s.intervals == 0) return;
  out["intervals"] = s.intervals;
  out["coverage90"] = s.coverage90;
  out["median_width"] = s.median_width;
}

std::string row_table(const Validation& validation) {
  TextTable table;
  const bool memory = validation.memory().n > 0;
  table.columns = {{"row", Align::left}, {"model", Align::left}, {"table", Align::left}, {"measured"},
                   {"predicted"}, {"error"}, {"bound by", Align::left}};
  if (memory) table.columns.push_back({"memory"});
  for (const ValidationPoint& p : validation.points) {
    table.rows.push_back({p.id, p.groups.at("model"), p.groups.at("table"),
                          format_seconds(p.measured_s), format_seconds(p.predicted_s),
                          fmt::format("{:+.1f} %", 100 * p.error()), p.host_bound ? "host" : "GPU"});
    if (!memory) continue;
    table.rows.back().push_back(
        p.measured_peak > 0 ? fmt::format("{:+.1f} %", 100 * p.memory_error()) : "-");
  }
  return table.text() + "\n";
}

// What is not a time of a whole step; empty where the rows do not measure it.
std::string agreement_sentences(const Validation& validation) {
  std::string out;
  if (const Agreement a = validation.exposed(); a.n > 0) {
    out += wrap(fmt::format("Exposed communication of {} rows: {} within 10 % or 1 ms; off by {} in the "
                            "middle, {} at worst.",
                            a.n,
                            a.within,
                            format_seconds(a.median),
                            format_seconds(a.worst))) +
           "\n";
  }
  if (const Agreement a = validation.efficiency(); a.n > 0) {
    out += wrap(fmt::format("Scaling efficiency of {} rows with a row of one GPU to compare with: {} within 2 "
                            "points; off by {:.1f} in the middle, {:.1f} at worst.",
                            a.n,
                            a.within,
                            100 * a.median,
                            100 * a.worst)) +
           "\n";
  }
  return out;
}

std::string host_sentence(const FittedHost& host) {
  std::string names;
  for (const std::string& row : host.rows) names += (names.empty() ? "" : ", ") + row;
  return wrap(fmt::format("The host takes {:.2f} times as long as the profile's, fitted on {} rows that "
                          "are left out above: {}.",
                          host.factor,
                          host.rows.size(),
                          names)) +
         "\n";
}

}  // namespace

std::string validation_text(const Validation& validation, bool rows) {
  std::string out;
  std::string left_out;
  if (rows && !validation.points.empty()) out += row_table(validation);
  TextTable table;
  table.columns = {{"group", Align::left}, {"rows"}, {"MAPE"}, {"median"}, {"p90"}, {"worst"}, {"bias"}, {"in 90 %"}};
  table.rows.push_back(cells("all", validation.all()));
  std::vector<const ValidationPoint*> by_bound[2];
  for (const ValidationPoint& p : validation.points) by_bound[p.host_bound ? 1 : 0].push_back(&p);
  table.rows.push_back(cells("bound by GPU or link", summarise(by_bound[0])));
  table.rows.push_back(cells("bound by the host", summarise(by_bound[1])));
  const ErrorSummary memory = validation.memory();
  if (memory.n > 0) table.rows.push_back(cells("peak memory", memory));
  for (const char* group : groups) {
    const auto parts = validation.by(group);
    if (parts.size() < 2) continue;
    const bool too_many = parts.size() > most_values;
    if (too_many) {
      left_out += fmt::format("{} has {} values, shown are those with at least {} rows: see --json.\n",
                              group,
                              parts.size(),
                              many_rows);
    }
    for (const auto& [value, summary] : parts) {
      if (too_many && summary.n < many_rows) continue;
      table.rows.push_back(cells(std::string(group) + " " + value, summary));
    }
  }
  out += table.text();
  out += left_out;
  out += fmt::format("\n{} rows read, {} predicted", validation.rows, validation.points.size());
  std::size_t refused = 0;
  for (const auto& [reason, n] : validation.refused) refused += n;
  out += fmt::format(", {} refused:\n", refused);
  for (const auto& [reason, n] : validation.refused) out += fmt::format("  {:5}  {}\n", n, reason);
  out += "error = predicted / measured - 1; MAPE is the mean of its absolute value.\n";
  out += agreement_sentences(validation);
  if (!validation.host.rows.empty()) out += host_sentence(validation.host);
  const ErrorSummary all = validation.all();
  if (all.intervals > 0) {
    out += wrap(fmt::format("in 90 %: {} of the {} complete rows without a flag lie within their 90 % "
                            "interval; the middle one's ends are {} of the prediction apart.",
                            format_percent(all.coverage90),
                            all.intervals,
                            format_percent(all.median_width, 0))) +
           "\n";
  }
  return out;
}

std::string validation_json(const Validation& validation) {
  nlohmann::ordered_json out;
  out["rows"] = validation.rows;
  out["predicted"] = validation.points.size();
  out["refused"] = nlohmann::ordered_json::object();
  for (const auto& [reason, n] : validation.refused) out["refused"][reason] = n;
  const ErrorSummary all = validation.all();
  if (!validation.host.rows.empty()) {
    out["host"] = {{"factor", validation.host.factor}, {"rows", validation.host.rows}};
  }
  out["mape"] = all.mape;
  out["median_ape"] = all.median_ape;
  out["p90_ape"] = all.p90_ape;
  out["worst_ape"] = all.worst_ape;
  out["bias"] = all.bias;
  add_coverage(out, all);
  out["memory"] = json_of(validation.memory());
  out["exposed_s"] = json_of(validation.exposed());
  out["efficiency"] = json_of(validation.efficiency());
  for (const char* group : groups) {
    out["by"][group] = nlohmann::ordered_json::object();
    for (const auto& [value, summary] : validation.by(group)) {
      out["by"][group][value] = json_of(summary);
      add_coverage(out["by"][group][value], summary);
    }
  }
  out["points"] = nlohmann::ordered_json::array();
  for (const ValidationPoint& p : validation.points) {
    out["points"].push_back({{"id", p.id},
                             {"measured_s", p.measured_s},
                             {"predicted_s", p.predicted_s},
                             {"error", p.error()},
                             {"bound_by", p.host_bound ? "host" : "gpu"}});
    if (p.interval.p50 > 0) {
      out["points"].back()["p5_s"] = p.interval.p5;
      out["points"].back()["p50_s"] = p.interval.p50;
      out["points"].back()["p95_s"] = p.interval.p95;
    }
    if (p.measured_exposed_s) {
      out["points"].back()["measured_exposed_s"] = *p.measured_exposed_s;
      out["points"].back()["predicted_exposed_s"] = p.predicted_exposed_s;
    }
    if (p.measured_peak <= 0) continue;
    out["points"].back()["measured_peak_bytes"] = p.measured_peak;
    out["points"].back()["predicted_peak_bytes"] = p.predicted_peak;
    out["points"].back()["memory_error"] = p.memory_error();
  }
  return out.dump(1) + "\n";
}

}  // namespace stepsight
