#include "reports/traced_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "reports/certainty.h"
#include "reports/money_report.h"
#include "reports/predict_report.h"
#include "reports/predict_sections.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

bool is_axis(const TracedReport& report, std::string_view key) {
  return std::ranges::find(report.axes, key) != report.axes.end();
}

std::string what_was_traced(const TracedStep& s) {
  const std::string part = s.steps > 1 ? fmt::format(" ({} of {} steps)", s.name, s.steps) : "";
  std::string out = fmt::format(
      "{}{}: {} kernels on {}, forward {}, backward {}, optimizer {}; {} gradients of {} "
      "parameters in {}",
      s.file,
      part,
      format_count(static_cast<double>(s.kernels.size())),
      s.gpu.empty() ? "a card that it does not name" : s.gpu,
      format_seconds(kernel_seconds(s, StepPart::forward)),
      format_seconds(kernel_seconds(s, StepPart::backward)),
      format_seconds(kernel_seconds(s, StepPart::optimizer)),
      format_count(static_cast<double>(s.gradients.size())),
      format_count(static_cast<double>(parameter_count(s))),
      info(s.gradient_dtype).name);
  if (s.micro_steps > 1) out += fmt::format(", {} micro-steps", s.micro_steps);
  return wrap(out) + "\n";
}

std::string cluster_of(const TracedReport& report, const GpuProfile& gpu) {
  const Scenario& s = report.points.back().point.scenario;
  std::string out = is_axis(report, "gpu") ? "" : gpu.title;
  if (!s.cluster.link.empty() && !is_axis(report, "link")) {
    out += (out.empty() ? "" : ", ") + s.cluster.link;
  }
  const bool talks = !s.cluster.link.empty() && !is_axis(report, "strategy");
  if (talks && s.parallel.strategy == Strategy::ddp) {
    out += fmt::format(", DDP in buckets of {:g} MiB", s.parallel.bucket_cap_MB);
  } else if (talks && shards_parameters(s.parallel.strategy)) {
    out += fmt::format(", FSDP in {} units", report.points.back().point.prediction.buckets);
  }
  return wrap(out) + "\n";
}

std::string table_of(const TracedReport& report) {
  TextTable table;
  const bool add_gpus = !is_axis(report, "gpus");
  if (add_gpus) table.columns.push_back({"GPUs"});
  for (const std::string& axis : report.axes) {
    table.columns.push_back({axis == "gpus" ? "GPUs" : axis});
  }
  table.columns.push_back({"step"});
  if (report.batch > 0) table.columns.push_back({"samples/s"});
  table.columns.push_back({"weak"});
  table.columns.push_back({"eff."});
  table.columns.push_back({"exposed", Align::right, 3});
  table.columns.push_back({"host", Align::right, 2});
  table.columns.push_back({"bound by", Align::right, 1});
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const StudyPoint& p = report.points[i].point;
    const Prediction& r = p.prediction;
    std::vector<std::string> row;
    if (add_gpus) row.push_back(std::to_string(p.scenario.cluster.gpus));
    for (const std::string& value : report.coordinates[i]) row.push_back(value);
    row.push_back(format_seconds(r.step.value));
    if (report.batch > 0) row.push_back(format_count(samples_per_s(report, p)));
    row.push_back(fmt::format("{:.2f}x", p.weak.scaling.speedup));
    row.push_back(format_percent(p.weak.scaling.efficiency, 0));
    row.push_back(r.message_bytes > 0 ? format_seconds(r.exposed_s) : "-");
    row.push_back(format_seconds(r.host_s));
    row.emplace_back(bound_by(r));
    table.rows.push_back(std::move(row));
  }
  return table.fitted();
}

std::string carried(const TracedPoint& p) {
  if (p.costs.kept >= 1) return "";
  std::string out = fmt::format(
      "Of the time on the traced card, {} was carried over operator by operator (shapes recorded) "
      "and {} by the ratio of the rates that bound such kernels.",
      format_percent(p.costs.by_operator, 0),
      format_percent(p.costs.by_rate, 0));
  if (p.costs.by_operator == 0) out += " With record_shapes=True a trace says more.";
  if (p.point.prediction.unmeasured_share > 0.02) {
    out += fmt::format(
        " For {} of the time no measured point of both cards is near: there formulas speak.",
        format_percent(p.point.prediction.unmeasured_share, 0));
  }
  return "\n" + wrap(out) + "\n";
}

std::string host(const TracedPoint& p) {
  const Prediction& r = p.point.prediction;
  std::string out;
  if (bound_by(r) == "host") {
    out = fmt::format("The host sets the pace: issuing a step takes it {}, the GPU needs {}.",
                      format_seconds(r.host_s),
                      format_seconds(r.gpu_busy_s));
  } else if (bound_by(r) == "link") {
    out = fmt::format("The link sets the pace: the GPU waits for it {} of the step.",
                      format_percent(r.exposed_s / r.step.value, 0));
  } else {
    out = fmt::format("The GPU's compute sets the pace: it is busy {} of the step.",
                      format_percent(r.gpu_busy_s / r.step.value, 0));
  }
  out += fmt::format(
      " Under the profiler the host took {} to issue the traced step; without one {} is assumed "
      "(buckets included), from the profile's costs of an operator and never more than traced.",
      format_seconds(p.traced_host_s),
      format_seconds(r.host_s));
  return "\n" + wrap(out) + "\n";
}

// Of what nine of ten such trainings do.
std::string intervals_of(const TracedReport& report) {
  if (report.points.front().point.uncertainty.step.p50 <= 0) return "";
  TextTable table;
  const bool add_gpus = !is_axis(report, "gpus");
  if (add_gpus) table.columns.push_back({"GPUs"});
  for (const std::string& axis : report.axes) table.columns.push_back({axis == "gpus" ? "GPUs" : axis});
  table.columns.push_back({"step"});
  table.columns.push_back({"weak"});
  table.columns.push_back({"eff.", Align::right, 1});
  table.columns.push_back({"exposed", Align::right, 2});
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const StudyPoint& p = report.points[i].point;
    const Quantiles &step = p.uncertainty.step, &weak = p.weak.speedup, &eff = p.weak.efficiency;
    const bool alone = p.scenario.cluster.gpus == 1;
    std::vector<std::string> row;
    if (add_gpus) row.push_back(std::to_string(p.scenario.cluster.gpus));
    for (const std::string& value : report.coordinates[i]) row.push_back(value);
    row.push_back(format_range(format_seconds(step.p5), format_seconds(step.p95)));
    row.push_back(alone ? "-" : fmt::format("{:.2f} to {:.2f}x", weak.p5, weak.p95));
    row.push_back(alone ? "-" : format_range(format_percent(eff.p5, 0), format_percent(eff.p95, 0)));
    row.push_back(p.exposed_s.p95 > 0 ? format_range(format_seconds(p.exposed_s.p5),
                                                     format_seconds(p.exposed_s.p95))
                                      : "-");
    table.rows.push_back(std::move(row));
  }
  return "\nHow sure: nine of ten such trainings lie between\n" + table.fitted();
}

std::string amounts(const Figure& f) {
  return fmt::format("{} ({} to {})", format_amount(f.value), format_amount(f.low), format_amount(f.high));
}

std::string money_of(const TracedReport& report) {
  const StudyPoint& p = report.points.back().point;
  if (!p.money) return "";
  const std::string currency = p.scenario.cost.currency.empty() ? "USD" : p.scenario.cost.currency;
  std::string out;
  const auto way = [&](const char* name, const Spending& s) {
    std::string line = fmt::format("{}: {} {} an hour; a step {}, a million samples {}", name,
                                   format_amount(s.per_hour), currency, amounts(s.per_step),
                                   amounts(s.per_million));
    if (s.per_run) line += ", the run " + amounts(*s.per_run);
    out += wrap(line + ".") + "\n";
  };
  if (p.money->rent) way("Rented", *p.money->rent);
  if (p.money->own) way(p.money->purchase.total() > 0 ? "Bought" : "Power alone", *p.money->own);
  if (p.money->run_s) {
    const Figure& run = *p.money->run_s;
    const auto hours = [](double s) { return format_amount(s / 3600); };
    out += wrap(fmt::format("The run takes {} hours ({} to {}).", hours(run.value), hours(run.low),
                            hours(run.high))) +
           "\n";
  }
  return out.empty() ? "" : fmt::format("\nWhat it costs on {} GPUs\n", p.scenario.cluster.gpus) + out;
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

std::string traced_text(const TracedReport& report, const GpuProfile& gpu) {
  const TracedPoint& last = report.points.back();
  std::string out = report.title.empty() ? "" : wrap(report.title) + "\n\n";
  out += what_was_traced(report.step) + cluster_of(report, gpu) + "\n" + table_of(report);
  out += intervals_of(report) + why_not_linear(last.point) + where_time_goes(last.point) + host(last) +
         carried(last) + certainty(last.point.uncertainty) + money_of(report);
  for (const std::string& note : report.notes) out += "\n" + wrap(note) + "\n";
  TextTable legend;
  legend.columns = {{"", Align::left}, {"", Align::left}};
  legend.rows = {{"weak", "speed-up over one GPU, batch of each kept: N GPUs do N times the work"},
                 {"eff.", "scaling efficiency: speed-up / GPUs"},
                 {"exposed", "communication while the GPU has nothing to compute"},
                 {"host", "what the host needs to issue a step"}};
  return out + "\n" + legend.body();
}

}  // namespace stepsight
