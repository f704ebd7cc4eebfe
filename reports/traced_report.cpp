#include "reports/traced_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "reports/certainty.h"
#include "reports/findings.h"
#include "reports/levers_report.h"
#include "reports/money_words.h"
#include "reports/predict_report.h"
#include "reports/predict_sections.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

bool is_axis(const TracedReport& report, std::string_view key) {
  return std::ranges::find(report.axes, key) != report.axes.end();
}

// An axis as column, "GPUs" before the axes where none of them is the number.
void add_axes(TextTable& table, const TracedReport& report, const Words& words) {
  if (!is_axis(report, "gpus")) table.columns.push_back({"GPUs"});
  for (const std::string& axis : report.axes) table.columns.push_back({axis_words(axis, words)});
}

// The cells of add_axes()' columns.
std::vector<std::string> axis_cells(const TracedReport& report, std::size_t point) {
  std::vector<std::string> out;
  if (!is_axis(report, "gpus")) {
    out.push_back(std::to_string(report.points[point].point.scenario.cluster.gpus));
  }
  out.insert(out.end(), report.coordinates[point].begin(), report.coordinates[point].end());
  return out;
}

std::string what_was_traced(const TracedStep& s, const Words& words) {
  std::string out = s.steps > 1 ? words("traced.file_step",
                                        fmt::arg("file", s.file),
                                        fmt::arg("name", s.name),
                                        fmt::arg("steps", s.steps))
                                : s.file;
  out += words("traced.kernels",
               fmt::arg("n", format_count(static_cast<double>(s.kernels.size()))),
               fmt::arg("card", s.gpu.empty() ? words("traced.unnamed_card") : s.gpu),
               fmt::arg("forward", format_seconds(kernel_seconds(s, StepPart::forward))),
               fmt::arg("backward", format_seconds(kernel_seconds(s, StepPart::backward))),
               fmt::arg("optimizer", format_seconds(kernel_seconds(s, StepPart::optimizer))),
               fmt::arg("gradients", format_count(static_cast<double>(s.gradients.size()))),
               fmt::arg("parameters", format_count(static_cast<double>(parameter_count(s)))),
               fmt::arg("format", info(s.gradient_dtype).name));
  if (s.micro_steps > 1) {
    out += words.text("list.comma");
    out += words("traced.micro_steps", fmt::arg("n", s.micro_steps));
  }
  return wrap(out) + "\n";
}

std::string cluster_of(const TracedReport& report, const GpuProfile& gpu, const Words& words) {
  const Scenario& s = report.points.back().point.scenario;
  std::string out = is_axis(report, "gpu") ? "" : gpu.title;
  const auto add = [&](const std::string& text) {
    if (!out.empty()) out += words.text("list.comma");
    out += text;
  };
  if (!s.cluster.link.empty() && !is_axis(report, "link")) add(s.cluster.link);
  const bool talks = !s.cluster.link.empty() && !is_axis(report, "strategy");
  if (talks && s.parallel.strategy == Strategy::ddp) {
    add(words("question.buckets", fmt::arg("size", fmt::format("{:g}", s.parallel.bucket_cap_MB))));
  } else if (talks && shards_parameters(s.parallel.strategy)) {
    add(words("traced.units", fmt::arg("n", report.points.back().point.prediction.buckets)));
  }
  return wrap(out) + "\n";
}

std::string table_of(const TracedReport& report, const Words& words) {
  TextTable table;
  add_axes(table, report, words);
  table.columns.push_back({words("column.step")});
  if (report.batch > 0) table.columns.push_back({words("levers.samples")});
  table.columns.push_back({words("column.weak")});
  table.columns.push_back({words("column.weak_efficiency")});
  table.columns.push_back({words("column.exposed"), Align::right, 3});
  table.columns.push_back({words("column.host"), Align::right, 2});
  table.columns.push_back({words("column.bound"), Align::right, 1});
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const StudyPoint& p = report.points[i].point;
    const Prediction& r = p.prediction;
    std::vector<std::string> row = axis_cells(report, i);
    row.push_back(format_seconds(r.step.value));
    if (report.batch > 0) row.push_back(format_count(samples_per_s(report, p)));
    row.push_back(fmt::format("{:.2f}x", p.weak.scaling.speedup));
    row.push_back(format_percent(p.weak.scaling.efficiency, 0));
    row.push_back(r.message_bytes > 0 ? format_seconds(r.exposed_s) : "-");
    row.push_back(format_seconds(r.host_s));
    row.push_back(words("bound." + std::string(bound_by(r))));
    table.rows.push_back(std::move(row));
  }
  return table.fitted();
}

std::string carried(const TracedPoint& p, const Words& words) {
  if (p.costs.kept >= 1) return "";
  std::string out = words("traced.carried",
                          fmt::arg("by_operator", format_percent(p.costs.by_operator, 0)),
                          fmt::arg("by_rate", format_percent(p.costs.by_rate, 0)));
  const auto add = [&](const std::string& sentence) {
    out += words.text("sentence.gap");
    out += sentence;
  };
  if (p.costs.by_operator == 0) add(words("traced.record_shapes"));
  if (p.point.prediction.unmeasured_share > 0.02) {
    add(words("traced.unmeasured",
              fmt::arg("share", format_percent(p.point.prediction.unmeasured_share, 0))));
  }
  return "\n" + wrap(out) + "\n";
}

// What sets the pace, with less advice than pace_sentence() has: a traced step is what it was.
std::string pace_of(const Prediction& r, const Words& words) {
  if (bound_by(r) == "host") {
    return words("traced.pace_host",
                 fmt::arg("host", format_seconds(r.host_s)),
                 fmt::arg("busy", format_seconds(r.gpu_busy_s)));
  }
  if (bound_by(r) == "loader") {
    return words("pace.loader",
                 fmt::arg("share", format_percent(r.attribution.loading / r.step.value, 0)));
  }
  if (bound_by(r) == "link") {
    return words("traced.pace_link",
                 fmt::arg("share", format_percent(r.exposed_s / r.step.value, 0)));
  }
  return words("pace.gpu", fmt::arg("share", format_percent(r.gpu_busy_s / r.step.value, 0)));
}

std::string host(const TracedPoint& p, const Words& words) {
  const Prediction& r = p.point.prediction;
  std::string out = pace_of(r, words);
  out += words.text("sentence.gap");
  out += words("traced.host",
               fmt::arg("traced", format_seconds(p.traced_host_s)),
               fmt::arg("assumed", format_seconds(r.host_s)));
  return "\n" + wrap(out) + "\n";
}

// Of what nine of ten such trainings do.
std::string intervals_of(const TracedReport& report, const Words& words) {
  if (report.points.front().point.uncertainty.step.p50 <= 0) return "";
  TextTable table;
  add_axes(table, report, words);
  table.columns.push_back({words("column.step")});
  table.columns.push_back({words("column.weak")});
  table.columns.push_back({words("column.weak_efficiency"), Align::right, 1});
  table.columns.push_back({words("column.exposed"), Align::right, 2});
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const StudyPoint& p = report.points[i].point;
    const Quantiles &step = p.uncertainty.step, &weak = p.weak.speedup, &eff = p.weak.efficiency;
    const bool alone = p.scenario.cluster.gpus == 1;
    const auto range = [&](const std::string& low, const std::string& high) {
      return format_range(low, high, words);
    };
    std::vector<std::string> row = axis_cells(report, i);
    row.push_back(range(format_seconds(step.p5), format_seconds(step.p95)));
    row.push_back(alone ? "-"
                        : range(fmt::format("{:.2f}", weak.p5), fmt::format("{:.2f}x", weak.p95)));
    row.push_back(alone ? "-" : range(format_percent(eff.p5, 0), format_percent(eff.p95, 0)));
    row.push_back(p.exposed_s.p95 > 0
                      ? range(format_seconds(p.exposed_s.p5), format_seconds(p.exposed_s.p95))
                      : "-");
    table.rows.push_back(std::move(row));
  }
  return "\n" + wrap(words("certainty.title")) + "\n" + table.fitted();
}

std::string span_of(const std::string& value,
                    const std::string& low,
                    const std::string& high,
                    const Words& words) {
  return words("money.span", fmt::arg("value", value), fmt::arg("from", low), fmt::arg("to", high));
}

std::string amounts(const Figure& f, const Words& words) {
  return span_of(format_amount(f.value), format_amount(f.low), format_amount(f.high), words);
}

std::string money_of(const TracedReport& report, const Words& words) {
  const StudyPoint& p = report.points.back().point;
  if (!p.money) return "";
  std::string out;
  const auto way = [&](const char* name, const Spending& s) {
    std::string line = words("traced.cost",
                             fmt::arg("way", words(name)),
                             fmt::arg("hour", format_amount(s.per_hour)),
                             fmt::arg("currency", currency_of(p.scenario)),
                             fmt::arg("step", amounts(s.per_step, words)),
                             fmt::arg("million", amounts(s.per_million, words)));
    if (s.per_run) line += words("traced.cost_run", fmt::arg("run", amounts(*s.per_run, words)));
    line += words.text("sentence.stop");
    out += wrap(line) + "\n";
  };
  if (p.money->rent) way("traced.rented", *p.money->rent);
  if (p.money->own) {
    way(p.money->purchase.total() > 0 ? "traced.bought" : "traced.power", *p.money->own);
  }
  if (p.money->run_s) {
    const Figure& run = *p.money->run_s;
    const auto hours = [](double s) { return format_amount(s / 3600); };
    out += wrap(words("traced.run",
                      fmt::arg("hours", hours(run.value)),
                      fmt::arg("from", hours(run.low)),
                      fmt::arg("to", hours(run.high)))) +
           "\n";
  }
  if (out.empty()) return "";
  return "\n" + wrap(words("traced.costs", fmt::arg("gpus", p.scenario.cluster.gpus))) + "\n" + out;
}

}  // namespace

double kernel_seconds(const TracedStep& step, StepPart part) {
  double out = 0;
  for (const TracedKernel& k : step.kernels) {
    if (k.part == part) out += k.seconds;
  }
  return out;
}

double samples_per_s(const TracedReport& report, const StudyPoint& p) {
  return static_cast<double>(report.batch * p.scenario.cluster.gpus) / p.prediction.step.value;
}

std::string traced_text(const TracedReport& report, const GpuProfile& gpu, const Words& words) {
  const TracedPoint& last = report.points.back();
  std::string out = report.title.empty() ? "" : wrap(report.title) + "\n\n";
  out += what_was_traced(report.step, words) + cluster_of(report, gpu, words) + "\n" +
         table_of(report, words) + intervals_of(report, words);
  out += why_not_linear(last.point, words) + where_time_goes(last.point, words) +
         host(last, words) + carried(last, words);
  if (report.between) out += between_text(*report.between, words);
  out += certainty(last.point.uncertainty, words) + levers_text(report.levers, words);
  if (report.levers_asked) {
    if (report.levers.empty()) out += "\n" + wrap(words("levers.none")) + "\n";
    out += wrap(words("levers.traced")) + "\n";
  }
  out += money_of(report, words);
  for (const std::string& note : report.notes) out += "\n" + wrap(said(note, words)) + "\n";
  TextTable legend;
  legend.columns = {{"", Align::left}, {"", Align::left}};
  legend.rows = {{words("column.weak"), words("legend.weak")},
                 {words("column.weak_efficiency"), words("legend.efficiency")},
                 {words("column.exposed"), words("legend.exposed")},
                 {words("column.host"), words("legend.host")}};
  return out + "\n" + legend.body();
}

}  // namespace stepsight
