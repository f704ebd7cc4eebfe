#include "reports/diagnose_report.h"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/findings.h"
#include "reports/json_parts.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

constexpr std::size_t most_hypotheses = 8;
constexpr std::size_t most_refused = 10;

std::string times(double factor) {
  return fmt::format("{:.2f}x", factor);
}

std::string range(const std::string& low, const std::string& high, const Words& words) {
  return words("range", fmt::arg("from", low), fmt::arg("to", high));
}
std::string range(const Quantiles& q, const Words& words) {
  return range(format_seconds(q.p5), format_seconds(q.p95), words);
}

std::string figures(const DiagnosedRun& run, const Words& words) {
  const DiagnoseQuestion& q = run.question;
  const Diagnosis& d = run.diagnosis;
  TextTable table;
  table.columns = {{"", Align::left},
                   {words("column.measured")},
                   {words("diagnose.expected")},
                   {words("diagnose.interval")}};
  const auto row = [&](std::string name,
                       std::string measured,
                       const std::optional<Quantiles>& q_,
                       auto format,
                       std::string interval) {
    table.rows.push_back(
        {std::move(name), std::move(measured), q_ ? format(q_->p50) : "-", std::move(interval)});
  };
  const auto seconds = [](double s) { return format_seconds(s); };
  row(words("diagnose.step_one"),
      q.one && !q.relative ? format_seconds(*q.one) : "-",
      d.expected_one,
      seconds,
      d.expected_one ? range(*d.expected_one, words) : "-");
  row(words("diagnose.step_n", fmt::arg("gpus", q.gpus)),
      q.relative ? "-" : format_seconds(q.n),
      d.expected,
      seconds,
      d.expected ? range(*d.expected, words) : "-");
  row(words("diagnose.speedup"),
      d.speedup > 0 ? times(d.speedup) : "-",
      d.expected_speedup,
      times,
      d.expected_speedup
          ? range(times(d.expected_speedup->p5), times(d.expected_speedup->p95), words)
          : "-");
  if (d.speedup > 0) {
    table.rows.push_back(
        {words("diagnose.efficiency"),
         format_percent(d.efficiency, 0),
         d.expected_speedup
             ? format_percent(d.expected_speedup->p50 / static_cast<double>(q.gpus), 0)
             : "-",
         ""});
  }
  return table.text();
}

std::string hypothesis_table(const Diagnosis& d, const Words& words) {
  if (d.hypotheses.empty()) return "";
  std::string out =
      "\n" + wrap(words("diagnose.gap", fmt::arg("gap", format_seconds(d.gap)))) + "\n";
  TextTable table;
  table.columns = {{words("diagnose.if"), Align::left},
                   {words("column.step")},
                   {words("diagnose.of_gap")},
                   {words("diagnose.fits"), Align::left}};
  std::size_t shown = 0;
  for (const Hypothesis& h : d.hypotheses) {
    if (shown++ == most_hypotheses) break;
    table.rows.push_back({cut(said(h.name, words), 44),
                          range(h.step, words),
                          format_percent(h.explains, 0),
                          h.fits ? words("yes") + (h.supported ? "*" : "") : ""});
  }
  out += table.text();
  const bool any = std::ranges::any_of(d.hypotheses, &Hypothesis::supported);
  return any ? out + words("diagnose.evidence") + "\n" : out;
}

std::string numbered(const std::vector<std::string>& lines, const Words& words) {
  std::string out;
  int n = 0;
  for (const std::string& line : lines) {
    std::string text = wrap(said(line, words), terminal_width - 3);
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
  nlohmann::ordered_json out{{"run", run.name},
                             {"verdict", name_of(d.verdict)},
                             {"says", describe(d.verdict)},
                             {"headline", d.headline}};
  out["gpus"] = q.gpus;
  out["step_1_s"] =
      q.one && !q.relative ? nlohmann::ordered_json(*q.one) : nlohmann::ordered_json(nullptr);
  out["step_n_s"] = q.relative ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(q.n);
  out["scaling"] = q.same_work ? "strong" : "weak";
  out["speedup"] =
      d.speedup > 0 ? nlohmann::ordered_json(d.speedup) : nlohmann::ordered_json(nullptr);
  out["efficiency"] =
      d.speedup > 0 ? nlohmann::ordered_json(d.efficiency) : nlohmann::ordered_json(nullptr);
  out["expected_step_1_s"] = json_of(d.expected_one);
  out["expected_step_n_s"] = json_of(d.expected);
  out["expected_speedup"] = json_of(d.expected_speedup);
  out["expected_exposed_share"] = d.communication_share;
  out["gap_s"] = d.gap;
  out["implied_busbw_GBps"] =
      d.implied_GBps ? nlohmann::ordered_json(*d.implied_GBps) : nlohmann::ordered_json(nullptr);
  out["hypotheses"] = nlohmann::ordered_json::array();
  for (const Hypothesis& h : d.hypotheses) {
    out["hypotheses"].push_back({{"cause", name_of(h.cause)},
                                 {"name", h.name},
                                 {"step_s", json_of(h.step)},
                                 {"of_gap", h.explains},
                                 {"fits", h.fits},
                                 {"evidence", h.supported},
                                 {"action", h.action}});
  }
  out["traps"] = d.traps;
  out["to_do"] = d.to_do;
  out["ask"] = d.ask;
  out["notes"] = run.notes;
  return out;
}

}  // namespace

std::string diagnosis_text(const DiagnosedRun& run, const Words& words) {
  const Diagnosis& d = run.diagnosis;
  std::string out = wrap(run.name) + "\n";
  for (const std::string& note : run.notes) out += wrap(said(note, words)) + "\n";
  out += "\n" + figures(run, words) + "\n";
  const std::string verdict = words("verdict." + std::string(name_of(d.verdict)));
  out += wrap(words("diagnose.verdict", fmt::arg("verdict", verdict))) + "\n";
  out += wrap("  " + said(d.headline, words) + words("sentence.stop")) + "\n";
  if (d.implied_GBps) {
    out += wrap(words("diagnose.implied", fmt::arg("rate", format_significant(*d.implied_GBps)))) +
           "\n";
  }
  for (const std::string& trap : d.traps)
    out += wrap(words("diagnose.careful", fmt::arg("trap", said(trap, words)))) + "\n";
  out += hypothesis_table(d, words);
  if (!d.to_do.empty()) out += "\n" + words("diagnose.first") + "\n" + numbered(d.to_do, words);
  if (!d.ask.empty())
    out += "\n" + wrap(words("diagnose.ask", fmt::arg("fact", said(d.ask, words)))) + "\n";
  const std::string note = run.question.same_work ? "diagnose.strong_note" : "diagnose.weak_note";
  return out + "\n" + wrap(words(run.question.one ? note + "_scaled" : note)) + "\n";
}

std::string diagnosis_json(const DiagnosedRun& run) {
  nlohmann::ordered_json out{{"schema", 1}};
  out.update(json_of(run));
  return json_text(out) + "\n";
}

std::string diagnoses_text(const DiagnosedTable& table, const Words& words) {
  TextTable text;
  text.columns = {{words("diagnose.run"), Align::left},
                  {"N"},
                  {words("diagnose.speedup")},
                  {words("diagnose.expected")},
                  {words("diagnose.verdict_column"), Align::left}};
  std::array<int, 4> count{};
  for (const DiagnosedRun& run : table.runs) {
    const Diagnosis& d = run.diagnosis;
    ++count[static_cast<std::size_t>(d.verdict)];
    text.rows.push_back({cut(run.name, 26),
                         std::to_string(run.question.gpus),
                         d.speedup > 0 ? times(d.speedup) : "-",
                         d.expected_speedup
                             ? times(d.expected_speedup->p5) + "-" + times(d.expected_speedup->p95)
                             : "-",
                         words("verdict_name." + std::string(name_of(d.verdict)))});
  }
  std::string out = text.text() + "\n";
  if (!table.law.empty()) out += wrap(table.law + ".") + "\n";
  out += wrap(words("diagnose.counts",
                    fmt::arg("healthy", count[0]),
                    fmt::arg("explained", count[1]),
                    fmt::arg("unexplained", count[2]),
                    fmt::arg("unknown", count[3]),
                    fmt::arg("refused", table.refused.size()))) +
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
  return json_text(out) + "\n";
}

}  // namespace stepsight
