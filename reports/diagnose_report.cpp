#include "reports/diagnose_report.h"

#include <array>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/text_table.h"

namespace stepsight {

namespace {

constexpr std::size_t most_hypotheses = 8;
constexpr std::size_t most_refused = 10;

std::string times(double factor) {
  return fmt::format("{:.2f}x", factor);
}

std::string range(const Quantiles& q) {
  return format_seconds(q.p5) + " to " + format_seconds(q.p95);
}

std::string figures(const DiagnosedRun& run) {
  const DiagnoseQuestion& q = run.question;
  const Diagnosis& d = run.diagnosis;
  TextTable table;
  table.columns = {{"", Align::left}, {"measured"}, {"expected"}, {"90 % interval"}};
  const auto row = [&](std::string name, std::string measured, const std::optional<Quantiles>& q_, auto format,
                       std::string interval) {
    table.rows.push_back({std::move(name), std::move(measured), q_ ? format(q_->p50) : "-", std::move(interval)});
  };
  const auto seconds = [](double s) { return format_seconds(s); };
  row("step on 1 GPU", q.one && !q.relative ? format_seconds(*q.one) : "-", d.expected_one, seconds,
      d.expected_one ? range(*d.expected_one) : "-");
  row(fmt::format("step on {} GPUs", q.gpus), q.relative ? "-" : format_seconds(q.n), d.expected, seconds,
      d.expected ? range(*d.expected) : "-");
  row("speed-up", d.speedup > 0 ? times(d.speedup) : "-", d.expected_speedup, times,
      d.expected_speedup ? times(d.expected_speedup->p5) + " to " + times(d.expected_speedup->p95) : "-");
  if (d.speedup > 0) {
    table.rows.push_back({"scaling efficiency", format_percent(d.efficiency, 0),
                          d.expected_speedup
                              ? format_percent(d.expected_speedup->p50 / static_cast<double>(q.gpus), 0)
                              : "-",
                          ""});
  }
  return table.text();
}

std::string hypothesis_table(const Diagnosis& d) {
  if (d.hypotheses.empty()) return "";
  std::string out = fmt::format("\nWhat would make the step {} longer than expected, each simulated:\n",
                                format_seconds(d.gap));
  TextTable table;
  table.columns = {{"if", Align::left}, {"step"}, {"of the gap"}, {"fits", Align::left}};
  std::size_t shown = 0;
  for (const Hypothesis& h : d.hypotheses) {
    if (shown++ == most_hypotheses) break;
    table.rows.push_back({h.name.substr(0, 44), range(h.step), format_percent(h.explains, 0),
                          h.fits ? (h.supported ? "yes*" : "yes") : ""});
  }
  out += table.text();
  const bool any = std::ranges::any_of(d.hypotheses, &Hypothesis::supported);
  return any ? out + "* and there is evidence for it\n" : out;
}

std::string numbered(const std::vector<std::string>& lines) {
  std::string out;
  int n = 0;
  for (const std::string& line : lines) {
    std::string text = wrap(line, terminal_width - 3);
    std::string indented;
    for (const char c : text) {
      indented += c;
      if (c == '\n') indented += "   ";
    }
    out += fmt::format("{}. {}\n", ++n, indented);
  }
  return out;
}

nlohmann::ordered_json json_of(const std::optional<Quantiles>& q) {
  if (!q) return nullptr;
  return {{"p5", q->p5}, {"p50", q->p50}, {"p95", q->p95}};
}

nlohmann::ordered_json json_of(const DiagnosedRun& run) {
  const DiagnoseQuestion& q = run.question;
  const Diagnosis& d = run.diagnosis;
  nlohmann::ordered_json out{{"run", run.name}, {"verdict", name_of(d.verdict)}, {"says", describe(d.verdict)},
                             {"headline", d.headline}};
  out["gpus"] = q.gpus;
  out["step_1_s"] = q.one && !q.relative ? nlohmann::ordered_json(*q.one) : nlohmann::ordered_json(nullptr);
  out["step_n_s"] = q.relative ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(q.n);
  out["scaling"] = q.same_work ? "strong" : "weak";
  out["speedup"] = d.speedup > 0 ? nlohmann::ordered_json(d.speedup) : nlohmann::ordered_json(nullptr);
  out["efficiency"] = d.speedup > 0 ? nlohmann::ordered_json(d.efficiency) : nlohmann::ordered_json(nullptr);
  out["expected_step_1_s"] = json_of(d.expected_one);
  out["expected_step_n_s"] = json_of(d.expected);
  out["expected_speedup"] = json_of(d.expected_speedup);
  out["expected_exposed_share"] = d.communication_share;
  out["gap_s"] = d.gap;
  out["implied_busbw_GBps"] = d.implied_GBps ? nlohmann::ordered_json(*d.implied_GBps) : nlohmann::ordered_json(nullptr);
  out["hypotheses"] = nlohmann::ordered_json::array();
  for (const Hypothesis& h : d.hypotheses) {
    out["hypotheses"].push_back({{"cause", name_of(h.cause)}, {"name", h.name}, {"step_s", json_of(h.step)},
                                 {"of_gap", h.explains}, {"fits", h.fits}, {"evidence", h.supported},
                                 {"action", h.action}});
  }
  out["traps"] = d.traps;
  out["to_do"] = d.to_do;
  out["ask"] = d.ask;
  out["notes"] = run.notes;
  return out;
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string diagnosis_text(const DiagnosedRun& run) {
  const Diagnosis& d = run.diagnosis;
  std::string out = wrap(run.name) + "\n";
  for (const std::string& note : run.notes) out += wrap(note) + "\n";
  out += "\n" + figures(run) + "\n";
  out += wrap(fmt::format("Verdict: {}", describe(d.verdict))) + "\n";
  out += wrap("  " + d.headline + ".") + "\n";
  if (d.implied_GBps) {
    out += wrap(fmt::format("  If the whole difference were gradients, the link would carry {} GB/s (bus bandwidth).",
                            format_significant(*d.implied_GBps))) +
           "\n";
  }
  for (const std::string& trap : d.traps) out += wrap("  Careful: " + trap + ".") + "\n";
  out += hypothesis_table(d);
  if (!d.to_do.empty()) out += "\nFirst:\n" + numbered(d.to_do);
  if (!d.ask.empty()) out += "\n" + wrap("The fact that would tell most: " + d.ask + ".") + "\n";
  out += "\n" + wrap(std::string("speed-up: ") +
                     (run.question.same_work ? "time of the same work on one GPU over that on N (strong scaling)"
                                             : "work a second over that of one GPU, the batch of each kept (weak "
                                               "scaling)") +
                     "; expected: predicted" +
                     (run.question.one ? ", scaled to the measured step on one GPU" : "") + ".") +
         "\n";
  return out;
}

std::string diagnosis_json(const DiagnosedRun& run) {
  nlohmann::ordered_json out{{"schema", 1}};
  out.update(json_of(run));
  return dump(out);
}

std::string diagnoses_text(const DiagnosedTable& table) {
  TextTable text;
  text.columns = {{"run", Align::left}, {"N"}, {"speed-up"}, {"expected"}, {"verdict", Align::left}};
  std::array<int, 4> count{};
  for (const DiagnosedRun& run : table.runs) {
    const Diagnosis& d = run.diagnosis;
    ++count[static_cast<std::size_t>(d.verdict)];
    text.rows.push_back({run.name.substr(0, 26), std::to_string(run.question.gpus),
                         d.speedup > 0 ? times(d.speedup) : "-",
                         d.expected_speedup
                             ? times(d.expected_speedup->p5) + "-" + times(d.expected_speedup->p95)
                             : "-",
                         std::string(name_of(d.verdict))});
  }
  std::string out = text.text() + "\n";
  if (!table.law.empty()) out += wrap(table.law + ".") + "\n";
  out += wrap(fmt::format("{} healthy, {} explained, {} not to be explained, {} with too few facts; {} rows refused.",
                          count[0], count[1], count[2], count[3], table.refused.size())) +
         "\n";
  for (std::size_t i = 0; i < std::min(most_refused, table.refused.size()); ++i) {
    out += wrap("  " + table.refused[i]) + "\n";
  }
  return out;
}

std::string diagnoses_json(const DiagnosedTable& table) {
  nlohmann::ordered_json out{{"schema", 1}};
  out["runs"] = nlohmann::ordered_json::array();
  for (const DiagnosedRun& run : table.runs) out["runs"].push_back(json_of(run));
  out["refused"] = table.refused;
  if (!table.law.empty()) out["law"] = table.law;
  return dump(out);
}

}  // namespace stepsight
