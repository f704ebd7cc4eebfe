#include "reports/predict_report.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "reports/certainty.h"
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
std::string model_of(const PredictReport& report) {
  constexpr std::array<std::string_view, 8> sizes{
      "name", "config", "family", "layers", "hidden", "heads", "ffn", "vocab"};
  const Scenario& s = report.points.front().scenario;
  if (std::ranges::any_of(sizes, [&](std::string_view k) { return is_axis(report, k); })) {
    return "";
  }
  const auto parameters = static_cast<double>(parameter_count(s.model));
  return fmt::format("{} ({} parameters), ", s.model.name, format_count(parameters));
}

std::string batch_of(const PredictReport& report) {
  const Training& t = report.points.front().scenario.training;
  std::string out;
  const bool fixed = t.global_batch > 0;
  if (!is_axis(report, fixed ? "global_batch" : "batch") && !is_axis(report, "seq")) {
    const std::string each =
        takes_images(report.points.front().scenario.model.family) ? " images"
                                                                  : fmt::format(" x {} tokens", t.seq);
    out += fixed ? fmt::format(", {}{} a step over all GPUs", t.global_batch, each)
                 : fmt::format(", {}{} on each GPU", t.batch, each);
  }
  if (t.accumulation > 1 && !is_axis(report, "accumulation")) {
    out += fmt::format(", {} micro-steps a step", t.accumulation);
  }
  return out;
}

std::string cluster_of(const PredictReport& report, const GpuProfile& gpu) {
  const Scenario& s = report.points[focus_of(report)].scenario;
  std::string out = is_axis(report, "gpu") ? "" : gpu.title;
  if (s.cluster.link.empty()) return out;
  if (!is_axis(report, "link")) {
    const bool varies = is_axis(report, "link_speed");
    out += (out.empty() ? "" : ", ") + (varies ? s.cluster.link : link_words(s.cluster));
  }
  if (s.parallel.strategy == Strategy::none) return out + ", no exchange";
  if (s.parallel.tensor > 1) out += fmt::format(", tensor {}", s.parallel.tensor);
  if (s.parallel.pipeline > 1) out += fmt::format(", pipeline {}", s.parallel.pipeline);
  if (s.parallel.strategy != Strategy::ddp) {
    return out + ", " + std::string(strategy_names[static_cast<std::size_t>(s.parallel.strategy)]);
  }
  if (!is_axis(report, "bucket_cap_MB")) {
    out += fmt::format(", DDP in buckets of {:g} MiB", s.parallel.bucket_cap_MB);
  }
  return out;
}

std::string question(const PredictReport& report, const GpuProfile& gpu) {
  const Training& t = report.points.front().scenario.training;
  std::string what = model_of(report);
  if (!is_axis(report, "precision")) what += std::string(name_of(t.precision)) + ", ";
  if (t.compile && !is_axis(report, "compile")) what += "compiled, ";
  what += optimizer_names[static_cast<std::size_t>(t.optimizer)];
  what += batch_of(report);
  std::string out = report.title.empty() ? "" : wrap(report.title) + "\n\n";
  return out + wrap(what) + "\n" + wrap(cluster_of(report, gpu)) + "\n";
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
  bool images = true;  // every model takes images: throughput counts them, not tokens
  bool money = false;
};

Columns columns_of(const PredictReport& report) {
  Columns out;
  for (const StudyPoint& p : report.points) {
    if (p.scenario.cluster.gpus > 1) out.scaling = true;
    if (p.prediction.message_bytes > 0) out.exposed = true;
    if (!takes_images(p.scenario.model.family)) out.images = false;
    if (p.money && p.money->cheaper() != nullptr) out.money = true;
  }
  return out;
}

std::string label_of(const std::string& axis) {
  return axis == "gpus" ? "GPUs" : axis == "name" ? "model" : axis;
}

// The figures of a point, in the order of figure_columns().
std::vector<std::string> figures(const StudyPoint& p, const Columns& columns) {
  const Prediction& r = p.prediction;
  std::vector<std::string> out{format_seconds(r.step.value), 
                               format_count(columns.images ? r.samples_per_s : r.tokens_per_s)};
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

std::vector<TextTable::Column> figure_columns(const Columns& columns) {
  std::vector<TextTable::Column> out{{"step"}, {columns.images ? "images/s" : "tokens/s"}};
  if (columns.scaling) {
    const std::initializer_list<TextTable::Column> scaling{
        {"weak"}, {"eff."}, {"strong", Align::right, 1}, {"eff.", Align::right, 1}};
    out.insert(out.end(), scaling);
  }
  out.push_back({"MFU", Align::right, 2});
  if (columns.exposed) out.push_back({"exposed", Align::right, 3});
  out.push_back({"memory"});
  if (columns.money) out.push_back({columns.images ? "cost/Mimg" : "cost/Mtok"});
  return out;
}

// Axes first (GPUs also when they are none, if there are several), then the figures.
std::string table_of(const PredictReport& report) {
  const Columns columns = columns_of(report);
  const bool add_gpus = !is_axis(report, "gpus");
  TextTable table;
  if (add_gpus) table.columns.push_back({"GPUs"});
  for (const std::string& axis : report.axes) {
    table.columns.push_back({label_of(axis)});
  }
  for (TextTable::Column& c : figure_columns(columns)) table.columns.push_back(std::move(c));
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
std::string about(const PredictReport& report) {
  if (report.axes.empty() || (report.axes.size() == 1 && report.axes.front() == "gpus")) return "";
  const std::vector<std::string>& at = report.coordinates[focus_of(report)];
  std::string out;
  for (std::size_t i = 0; i < at.size(); ++i) {
    out += (i == 0 ? "" : ", ") + label_of(report.axes[i]) + " = " + at[i];
  }
  return "\n" + wrap("The rest is about the row " + out + ".") + "\n";
}

// One line a figure, only for those that the table has.
std::string legend(const PredictReport& report, const GpuProfile& gpu, const std::string& table) {
  const StudyPoint& p = report.points[focus_of(report)];
  const Dtype type = p.scenario.training.precision.compute;
  const double peak = gpu.vendor_TFLOPS[static_cast<std::size_t>(type)];
  const std::string header = table.substr(0, table.find('\n'));
  TextTable out;
  out.columns = {{"", Align::left}, {"", Align::left}};
  const auto add = [&](const char* name, std::string meaning) {
    if (header.find(name) != std::string::npos) out.rows.push_back({name, std::move(meaning)});
  };
  add("weak", "speed-up over one GPU, batch of each kept: N GPUs do N times the work");
  add("strong", "speed-up over one GPU, global batch kept: N GPUs do the same work");
  add("eff.", "scaling efficiency: speed-up / GPUs");
  add("MFU",
      fmt::format("model FLOP (no recomputation) over the vendor's {:.0f} TFLOP/s "
                  "{}",
                  peak,
                  info(type).name));
  add("exposed", "communication while the GPU has nothing to compute");
  add("memory", "peak of one GPU; ! where the card has less");
  const std::string currency = p.scenario.cost.currency.empty() ? "USD" : p.scenario.cost.currency;
  add("cost/Mtok", currency + " for a million tokens, the cheaper of renting and owning");
  add("cost/Mimg", currency + " for a million images, the cheaper of renting and owning");
  return "\n" + out.body();
}

}  // namespace

std::size_t focus_of(const PredictReport& report) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < report.points.size(); ++i) {
    const auto gpus = [&](std::size_t at) { return report.points[at].scenario.cluster.gpus; };
    if (gpus(i) >= gpus(best)) best = i;
  }
  return best;
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

std::string predict_text(const PredictReport& report, const GpuProfile& gpu) {
  const StudyPoint& point = report.points[focus_of(report)];
  const std::string table = table_of(report);
  std::string out = question(report, gpu) + "\n" + table + intervals_table(report) + about(report);
  out += why_not_linear(point);
  if (report.between) out += between_text(*report.between);
  out += where_time_goes(point) +
         (report.verdicts.empty() ? verdicts(point, gpu) : report.verdicts);
  out += certainty(point.uncertainty) + levers_text(report.levers);
  out += money_section(point) + worth_section(report);
  for (const std::string& note : report.notes) out += "\n" + wrap(note) + "\n";
  return out + legend(report, gpu, table);
}

}  // namespace stepsight
