#include "reports/traced_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/json_parts.h"
#include "reports/predict_report.h"
#include "reports/predict_sections.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

using Json = nlohmann::ordered_json;

bool is_axis(const TracedReport& report, std::string_view key) {
  return std::ranges::find(report.axes, key) != report.axes.end();
}

double sum_of(const TracedStep& step, StepPart part) {
  double out = 0;
  for (const TracedKernel& k : step.kernels) {
    if (k.part == part) out += k.seconds;
  }
  return out;
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
      format_seconds(sum_of(s, StepPart::forward)),
      format_seconds(sum_of(s, StepPart::backward)),
      format_seconds(sum_of(s, StepPart::optimizer)),
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

double samples_per_s(const TracedReport& report, const StudyPoint& p) {
  return static_cast<double>(report.batch * p.scenario.cluster.gpus) / p.prediction.step.value;
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

Json trace_json(const TracedStep& s) {
  return {{"file", s.file},
          {"step", s.name.empty() ? Json(nullptr) : Json(s.name)},
          {"steps", s.steps},
          {"gpu", s.gpu.empty() ? Json(nullptr) : Json(s.gpu)},
          {"kernels", s.kernels.size()},
          {"forward_s", sum_of(s, StepPart::forward)},
          {"backward_s", sum_of(s, StepPart::backward)},
          {"optimizer_s", sum_of(s, StepPart::optimizer)},
          {"gradients", s.gradients.size()},
          {"parameters", parameter_count(s)},
          {"sizes_recorded", s.sizes_recorded},
          {"gradient_dtype", info(s.gradient_dtype).name},
          {"micro_steps", s.micro_steps}};
}

Json point_json(const TracedReport& report, const TracedPoint& traced) {
  const StudyPoint& p = traced.point;
  const Prediction& r = p.prediction;
  Json out{{"gpu", p.scenario.cluster.gpu},
           {"gpus", p.scenario.cluster.gpus},
           {"link", p.scenario.cluster.link},
           {"step_time_s", r.step.value},
           {"samples_per_s", report.batch > 0 ? Json(samples_per_s(report, p)) : Json(nullptr)},
           {"weak",
            {{"one_gpu_step_s", p.weak.one_gpu.value},
             {"step_s", p.weak.step.value},
             {"speedup", p.weak.scaling.speedup},
             {"efficiency", p.weak.scaling.efficiency}}},
           {"exposed_communication_s", r.exposed_s},
           {"communication_s", r.communication_s},
           {"message_bytes", r.message_bytes},
           {"buckets", r.buckets},
           {"host_s", r.host_s},
           {"traced_host_s", traced.traced_host_s},
           {"gpu_busy_s", r.gpu_busy_s},
           {"bound_by", bound_by(r)},
           {"unmeasured_share", r.unmeasured_share},
           {"scaled_by_operator_share", traced.costs.by_operator},
           {"scaled_by_rate_share", traced.costs.by_rate}};
  add_parts(out, r, false);
  return out;
}

}  // namespace

std::string traced_text(const TracedReport& report, const GpuProfile& gpu) {
  const TracedPoint& last = report.points.back();
  std::string out = report.title.empty() ? "" : wrap(report.title) + "\n\n";
  out += what_was_traced(report.step) + cluster_of(report, gpu) + "\n" + table_of(report);
  out += why_not_linear(last.point, Words()) + where_time_goes(last.point, Words()) + host(last) + carried(last);
  for (const std::string& note : report.notes) out += "\n" + wrap(note) + "\n";
  TextTable legend;
  legend.columns = {{"", Align::left}, {"", Align::left}};
  legend.rows = {{"weak", "speed-up over one GPU, batch of each kept: N GPUs do N times the work"},
                 {"eff.", "scaling efficiency: speed-up / GPUs"},
                 {"exposed", "communication while the GPU has nothing to compute"},
                 {"host", "what the host needs to issue a step"}};
  return out + "\n" + legend.body();
}

std::string traced_json(const TracedReport& report) {
  Json out{{"schema", 1},
           {"title", report.title},
           {"trace", trace_json(report.step)},
           {"axes", report.axes}};
  out["points"] = Json::array();
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    Json point = point_json(report, report.points[i]);
    for (std::size_t a = 0; a < report.axes.size(); ++a) {
      if (!point.contains(report.axes[a])) point[report.axes[a]] = report.coordinates[i][a];
    }
    out["points"].push_back(std::move(point));
  }
  out["notes"] = report.notes;
  return json_text(out) + "\n";
}

std::string traced_csv(const TracedReport& report) {
  std::string out;
  for (const std::string& axis : report.axes) out += axis + ",";
  out +=
      "trace,on_gpu,on_gpus,over_link,step_time_s,weak_speedup,weak_efficiency,"
      "exposed_communication_s,communication_s,host_s,gpu_busy_s,scaled_by_operator_share,"
      "scaled_by_rate_share,bound_by\n";
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const TracedPoint& traced = report.points[i];
    const StudyPoint& p = traced.point;
    const Prediction& r = p.prediction;
    for (const std::string& value : report.coordinates[i]) out += csv_cell(value) + ",";
    out += fmt::format("{},{},{},{},",
                       csv_cell(report.step.file),
                       csv_cell(p.scenario.cluster.gpu),
                       p.scenario.cluster.gpus,
                       csv_cell(p.scenario.cluster.link));
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}\n",
                       r.step.value,
                       p.weak.scaling.speedup,
                       p.weak.scaling.efficiency,
                       r.exposed_s,
                       r.communication_s,
                       r.host_s,
                       r.gpu_busy_s,
                       traced.costs.by_operator,
                       traced.costs.by_rate,
                       bound_by(r));
  }
  return out;
}

}  // namespace stepsight
