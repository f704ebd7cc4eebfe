#include "reports/validate_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/json_parts.h"
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
  return {cut(name, name_width),
          format_count(static_cast<double>(s.n)),
          format_percent(s.mape),
          format_percent(s.median_ape),
          format_percent(s.p90_ape),
          format_percent(s.worst_ape),
          fmt::format("{:+.1f} %", 100 * s.bias),
          coverage_of(s)};
}

nlohmann::ordered_json json_of(const ErrorSummary& s) {
  return {{"n", s.n},
          {"mape", s.mape},
          {"median_ape", s.median_ape},
          {"p90_ape", s.p90_ape},
          {"worst_ape", s.worst_ape},
          {"bias", s.bias}};
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

std::string row_table(const Validation& validation, const Words& words) {
  TextTable table;
  const bool memory = validation.memory().n > 0;
  table.columns = {{words("column.row"), Align::left},
                   {words("column.model"), Align::left},
                   {words("column.table"), Align::left},
                   {words("column.measured")},
                   {words("column.predicted")},
                   {words("column.error")},
                   {words("column.bound"), Align::left}};
  if (memory) table.columns.push_back({words("column.memory")});
  for (const ValidationPoint& p : validation.points) {
    table.rows.push_back({p.id,
                          p.groups.at("model"),
                          p.groups.at("table"),
                          format_seconds(p.measured_s),
                          format_seconds(p.predicted_s),
                          fmt::format("{:+.1f} %", 100 * p.error()),
                          p.host_bound ? words("bound.host") : "GPU"});
    if (!memory) continue;
    table.rows.back().push_back(
        p.measured_peak > 0 ? fmt::format("{:+.1f} %", 100 * p.memory_error()) : "-");
  }
  return table.text() + "\n";
}

// What is not a time of a whole step; empty where the rows do not measure it.
std::string agreement_sentences(const Validation& validation, const Words& words) {
  std::string out;
  if (const Agreement a = validation.exposed(); a.n > 0) {
    out += wrap(words("validation.exposed",
                      fmt::arg("n", a.n),
                      fmt::arg("within", a.within),
                      fmt::arg("median", format_seconds(a.median)),
                      fmt::arg("worst", format_seconds(a.worst)))) +
           "\n";
  }
  if (const Agreement a = validation.efficiency(); a.n > 0) {
    const auto points = [](double share) { return fmt::format("{:.1f}", 100 * share); };
    out += wrap(words("validation.efficiency",
                      fmt::arg("n", a.n),
                      fmt::arg("within", a.within),
                      fmt::arg("median", points(a.median)),
                      fmt::arg("worst", points(a.worst)))) +
           "\n";
  }
  return out;
}

std::string host_sentence(const FittedHost& host, const Words& words) {
  std::string names;
  for (const std::string& row : host.rows) names += (names.empty() ? "" : ", ") + row;
  return wrap(words("validation.host",
                    fmt::arg("factor", fmt::format("{:.2f}", host.factor)),
                    fmt::arg("n", host.rows.size()),
                    fmt::arg("rows", names))) +
         "\n";
}

// A table of the errors of all rows and of their groups; what a group has too many of is told below
// it.
std::string error_table(const Validation& validation, const Words& words) {
  TextTable table;
  table.columns = {{words("column.group"), Align::left},
                   {words("column.rows")},
                   {"MAPE"},
                   {words("column.median")},
                   {"p90"},
                   {words("column.worst")},
                   {words("column.bias")},
                   {words("validation.covered")}};
  table.rows.push_back(cells(words("validation.group_all"), validation.all()));
  std::vector<const ValidationPoint*> by_bound[2];
  for (const ValidationPoint& p : validation.points) by_bound[p.host_bound ? 1 : 0].push_back(&p);
  table.rows.push_back(cells(words("validation.bound_gpu"), summarise(by_bound[0])));
  table.rows.push_back(cells(words("validation.group_host"), summarise(by_bound[1])));
  const ErrorSummary memory = validation.memory();
  if (memory.n > 0) table.rows.push_back(cells(words("validation.group_memory"), memory));
  std::string left_out;
  for (const char* group : groups) {
    const auto parts = validation.by(group);
    if (parts.size() < 2) continue;
    const bool too_many = parts.size() > most_values;
    if (too_many) {
      left_out += wrap(words("validation.many_values",
                             fmt::arg("group", group),
                             fmt::arg("n", parts.size()),
                             fmt::arg("rows", many_rows))) +
                  "\n";
    }
    for (const auto& [value, summary] : parts) {
      if (too_many && summary.n < many_rows) continue;
      table.rows.push_back(
          cells(words("validation.by_" + std::string(group), fmt::arg("value", value)), summary));
    }
  }
  return table.text() + left_out;
}

}  // namespace

std::string validation_text(const Validation& validation, bool rows, const Words& words) {
  std::string out;
  if (rows && !validation.points.empty()) out += row_table(validation, words);
  out += error_table(validation, words) + "\n";
  std::size_t refused = 0;
  for (const auto& [reason, n] : validation.refused) refused += n;
  out += wrap(words("validation.read",
                    fmt::arg("rows", validation.rows),
                    fmt::arg("predicted", validation.points.size()),
                    fmt::arg("refused", refused))) +
         "\n";
  for (const auto& [reason, n] : validation.refused) out += fmt::format("  {:5}  {}\n", n, reason);
  out += wrap(words("validation.error_note")) + "\n";
  out += agreement_sentences(validation, words);
  if (!validation.host.rows.empty()) out += host_sentence(validation.host, words);
  const ErrorSummary all = validation.all();
  if (all.intervals > 0) {
    out += wrap(words("validation.coverage_note",
                      fmt::arg("share", format_percent(all.coverage90)),
                      fmt::arg("n", all.intervals),
                      fmt::arg("width", format_percent(all.median_width, 0)))) +
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
  return json_text(out) + "\n";
}

}  // namespace stepsight
