#include "reports/predict_report.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "reports/certainty.h"
#include "reports/findings.h"
#include "reports/levers_report.h"
#include "reports/money_report.h"
#include "reports/predict_sections.h"
#include "reports/question.h"
#include "reports/text_table.h"
#include "simulate/quick_predict.h"

namespace stepsight {

namespace {

bool is_axis(const PredictReport& report, std::string_view key) {
  return std::ranges::find(report.axes, key) != report.axes.end();
}

// What every point has in common; what an axis changes is in the table.
std::string model_of(const PredictReport& report, const Words& words) {
  constexpr std::array<std::string_view, 8> sizes{
      "name", "config", "family", "layers", "hidden", "heads", "ffn", "vocab"};
  const Scenario& s = report.points.front().scenario;
  if (std::ranges::any_of(sizes, [&](std::string_view k) { return is_axis(report, k); })) {
    return "";
  }
  const auto parameters = static_cast<double>(parameter_count(s.model));
  return words(
      "question.model", fmt::arg("model", s.model.name), fmt::arg("n", format_count(parameters)));
}

std::string joined(const std::vector<std::string>& parts, const Words& words) {
  std::string out;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!out.empty()) out += words.text("list.comma");
    out += part;
  }
  return out;
}

std::string cluster_of(const PredictReport& report, const GpuProfile& gpu, const Words& words) {
  const Scenario& s = report.points[focus_of(report)].scenario;
  const Parallel& p = s.parallel;
  std::vector<std::string> out;
  if (!is_axis(report, "gpu")) out.push_back(gpu.title);
  if (s.cluster.link.empty()) return joined(out, words);
  if (!is_axis(report, "link")) {
    out.push_back(is_axis(report, "link_speed") ? s.cluster.link : link_words(s.cluster, words));
  }
  if (p.strategy == Strategy::none) {
    out.push_back(words("question.no_exchange"));
    return joined(out, words);
  }
  if (p.tensor > 1) out.push_back(words("question.tensor", fmt::arg("n", p.tensor)));
  if (p.pipeline > 1) out.push_back(words("question.pipeline", fmt::arg("n", p.pipeline)));
  if (p.strategy != Strategy::ddp) {
    out.emplace_back(strategy_names[static_cast<std::size_t>(p.strategy)]);
  } else if (!is_axis(report, "bucket_cap_MB")) {
    out.push_back(
        words("question.buckets", fmt::arg("size", fmt::format("{:g}", p.bucket_cap_MB))));
  }
  return joined(out, words);
}

std::string question(const PredictReport& report, const GpuProfile& gpu, const Words& words) {
  const Scenario& s = report.points.front().scenario;
  const Training& t = s.training;
  std::vector<std::string> what{model_of(report, words)};
  if (!is_axis(report, "precision")) what.emplace_back(name_of(t.precision));
  if (t.compile && !is_axis(report, "compile")) what.push_back(words("question.compiled"));
  what.emplace_back(optimizer_names[static_cast<std::size_t>(t.optimizer)]);
  const bool fixed = t.global_batch > 0;
  if (!is_axis(report, fixed ? "global_batch" : "batch") && !is_axis(report, "seq")) {
    what.push_back(batch_words(s, words));
  }
  if (t.accumulation > 1 && !is_axis(report, "accumulation")) {
    what.push_back(words("question.micro_steps", fmt::arg("n", t.accumulation)));
  }
  std::string out = report.title.empty() ? "" : wrap(report.title) + "\n\n";
  return out + wrap(joined(what, words)) + "\n" + wrap(cluster_of(report, gpu, words)) + "\n";
}

std::string speedup_cell(const ScalingPoint& p) {
  return fmt::format("{:.2f}x", p.scaling.speedup);
}
std::string efficiency_cell(const ScalingPoint& p) {
  return format_percent(p.scaling.efficiency, 0);
}

// Which figures say something: without a second GPU nothing scales, without an exchange nothing is
// exposed.
struct Columns {
  bool scaling = false;
  bool exposed = false;
  Taken taken;  // where every model takes images, throughput counts them, not tokens
  bool money = false;
};

Columns columns_of(const PredictReport& report) {
  Columns out;
  for (const StudyPoint& p : report.points) {
    if (p.scenario.cluster.gpus > 1) out.scaling = true;
    if (p.prediction.message_bytes > 0) out.exposed = true;
    out.taken.add(p.scenario);
    if (p.money && p.money->cheaper() != nullptr) out.money = true;
  }
  return out;
}

// The figures of a point, in the order of figure_columns().
std::vector<std::string> figures(const StudyPoint& p, const Columns& columns) {
  const Prediction& r = p.prediction;
  std::vector<std::string> out{
      format_seconds(r.step.value),
      format_count(columns.taken.only_images() ? r.samples_per_s : r.tokens_per_s)};
  if (columns.scaling) {
    out.push_back(speedup_cell(p.weak));
    out.push_back(efficiency_cell(p.weak));
    out.push_back(p.strong ? speedup_cell(*p.strong) : "-");
    out.push_back(p.strong ? efficiency_cell(*p.strong) : "-");
  }
  out.push_back(format_percent(r.mfu, 0));
  if (columns.exposed) {
    out.push_back(r.message_bytes > 0 ? format_seconds(r.exposed_s) : "-");
  }
  out.push_back(format_bytes(r.memory.needed) + (r.memory.fits ? "" : "!"));
  if (columns.money) {
    const Spending* spent = p.money ? p.money->cheaper() : nullptr;
    out.push_back(spent != nullptr ? format_amount(spent->per_million.value) : "-");
  }
  return out;
}

std::vector<TextTable::Column> figure_columns(const Columns& columns, const Words& words) {
  std::vector<TextTable::Column> out{{words("column.step")},
                                     {std::string(words.text(columns.taken.column()))}};
  if (columns.scaling) {
    const std::initializer_list<TextTable::Column> scaling{
        {words("column.weak")},
        {words("column.weak_efficiency")},
        {words("column.strong"), Align::right, 1},
        {words("column.strong_efficiency"), Align::right, 1}};
    out.insert(out.end(), scaling);
  }
  out.push_back({"MFU", Align::right, 2});
  if (columns.exposed) out.push_back({words("column.exposed"), Align::right, 3});
  out.push_back({words("column.memory")});
  if (columns.money)
    out.push_back(
        {words(columns.taken.only_images() ? "column.cost_images" : "column.cost_tokens")});
  return out;
}

// Axes first (GPUs also when they are none, if there are several), then the figures.
std::string table_of(const PredictReport& report, const Words& words) {
  const Columns columns = columns_of(report);
  const bool add_gpus = !is_axis(report, "gpus");
  TextTable table;
  if (add_gpus) table.columns.push_back({"GPUs"});
  for (const std::string& axis : report.axes) {
    table.columns.push_back({axis_words(axis, words)});
  }
  for (TextTable::Column& c : figure_columns(columns, words)) table.columns.push_back(std::move(c));
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    std::vector<std::string> row;
    if (add_gpus) row.push_back(std::to_string(report.points[i].scenario.cluster.gpus));
    for (const std::string& value : report.coordinates[i]) row.push_back(value);
    for (std::string& cell : figures(report.points[i], columns)) row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  return table.fitted();
}

// Which of the table's rows the sections are about; said only where it could be another one.
std::string about(const PredictReport& report, const Words& words) {
  if (report.axes.empty() || (report.axes.size() == 1 && report.axes.front() == "gpus")) return "";
  const std::vector<std::string>& at = report.coordinates[focus_of(report)];
  std::vector<std::string> row;
  for (std::size_t i = 0; i < at.size(); ++i) {
    row.push_back(axis_words(report.axes[i], words) + " = " + at[i]);
  }
  return "\n" + wrap(words("table.about", fmt::arg("row", joined(row, words)))) + "\n";
}

// One line a figure, only for those that the table has.
std::string legend(const PredictReport& report,
                   const GpuProfile& gpu,
                   const std::string& table,
                   const Words& words) {
  const Scenario& s = report.points[focus_of(report)].scenario;
  const Dtype type = s.training.precision.compute;
  const double peak = gpu.vendor_TFLOPS[static_cast<std::size_t>(type)];
  const std::string header = table.substr(0, table.find('\n'));
  TextTable out;
  out.columns = {{"", Align::left}, {"", Align::left}};
  const auto add = [&](std::string name, std::string meaning) {
    if (header.find(name) != std::string::npos)
      out.rows.push_back({std::move(name), std::move(meaning)});
  };
  add(words("column.weak"), words("legend.weak"));
  add(words("column.strong"), words("legend.strong"));
  add(words("column.weak_efficiency"), words("legend.efficiency"));
  add("MFU",
      words("legend.mfu",
            fmt::arg("peak", fmt::format("{:.0f}", peak)),
            fmt::arg("format", info(type).name)));
  add(words("column.exposed"), words("legend.exposed"));
  add(words("column.memory"), words("legend.memory"));
  const std::string currency = s.cost.currency.empty() ? "USD" : s.cost.currency;
  add(words("column.cost_tokens"), words("legend.cost_tokens", fmt::arg("currency", currency)));
  add(words("column.cost_images"), words("legend.cost_images", fmt::arg("currency", currency)));
  return "\n" + out.body();
}

}  // namespace

std::size_t focus_of(std::span<const Scenario> points) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].cluster.gpus >= points[best].cluster.gpus) best = i;
  }
  return best;
}

std::size_t focus_of(const PredictReport& report) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < report.points.size(); ++i) {
    const auto gpus = [&](std::size_t at) { return report.points[at].scenario.cluster.gpus; };
    if (gpus(i) >= gpus(best)) best = i;
  }
  return best;
}

std::string axis_words(std::string_view axis, const Words& words) {
  return axis == "gpus" ? "GPUs" : axis == "name" ? words("column.model") : std::string(axis);
}

namespace {

std::string_view pace_setter(bool loader, bool host, double exposed_s, Seconds step) {
  if (loader) return "loader";
  if (host) return "host";
  return exposed_s > 0.15 * step.value ? "link" : "gpu";
}

}  // namespace

std::string_view bound_by(const Prediction& p) {
  return pace_setter(p.attribution.loading > 0, p.host_bound, p.exposed_s, p.step);
}

std::string_view bound_by(const QuickPrediction& p) {
  return pace_setter(p.loader_bound, p.host_bound, p.exposed_s, p.step);
}

std::string_view name_of(const Precision& precision) {
  for (const PrecisionName& row : precisions) {
    if (row.precision == precision) return row.name;
  }
  return info(precision.compute).name;
}

std::string predict_text(const PredictReport& report, const GpuProfile& gpu, const Words& words) {
  const StudyPoint& point = report.points[focus_of(report)];
  const std::string table = table_of(report, words);
  std::string out = question(report, gpu, words) + "\n" + table + intervals_table(report, words) +
                    about(report, words);
  out += why_not_linear(point, words);
  if (report.between) out += between_text(*report.between, words);
  out += where_time_goes(point, words) + verdicts(point, gpu, words);
  out += certainty(point.uncertainty, words) + levers_text(report.levers, words);
  out += money_section(point, words);
  if (report.points.front().money) out += worth_section(report, words);
  for (const std::string& note : report.notes) out += "\n" + wrap(said(note, words)) + "\n";
  return out + legend(report, gpu, table, words);
}

}  // namespace stepsight
