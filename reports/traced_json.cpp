// The machine-readable forms of a traced step's predictions; every number of the text is here, too.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/intervals.h"
#include "reports/json_parts.h"
#include "reports/levers_report.h"
#include "reports/money_report.h"
#include "reports/predict_report.h"
#include "reports/text_table.h"
#include "reports/traced_report.h"

namespace stepsight {

namespace {

using Json = nlohmann::ordered_json;

Json trace_json(const TracedStep& s) {
  return {{"file", s.file},
          {"step", s.name.empty() ? Json(nullptr) : Json(s.name)},
          {"steps", s.steps},
          {"gpu", s.gpu.empty() ? Json(nullptr) : Json(s.gpu)},
          {"kernels", s.kernels.size()},
          {"forward_s", kernel_seconds(s, StepPart::forward)},
          {"backward_s", kernel_seconds(s, StepPart::backward)},
          {"optimizer_s", kernel_seconds(s, StepPart::optimizer)},
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
           {"weak", scaling_json(p.weak)},
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
  if (p.uncertainty.step.p50 > 0) {
    out["intervals"] = intervals_json(p, Figures::of_trace);
    if (report.batch > 0) {
      const double work = static_cast<double>(report.batch * p.scenario.cluster.gpus);
      out["intervals"]["samples_per_s"] = quantiles_json(rate_of(p.uncertainty.step, work));
    }
    out["uncertainty"] = uncertainty_json(p.uncertainty);
  }
  if (p.money) out["money"] = money_json(p.scenario, p.money);
  return out;
}

}  // namespace

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
  if (report.levers_asked) out["levers"] = levers_json(report.levers);
  if (report.between) out["between"] = between_json(*report.between);
  out["notes"] = report.notes;
  return json_text(out) + "\n";
}

std::string traced_csv(const TracedReport& report) {
  std::string out;
  for (const std::string& axis : report.axes) out += axis + ",";
  out +=
      "trace,on_gpu,on_gpus,over_link,step_time_s,weak_speedup,weak_efficiency,"
      "exposed_communication_s,communication_s,host_s,gpu_busy_s,scaled_by_operator_share,"
      "scaled_by_rate_share,bound_by";
  out += interval_csv_header(Figures::of_trace);
  const bool money = std::ranges::any_of(
      report.points, [](const TracedPoint& p) { return p.point.money.has_value(); });
  out += (money ? money_csv_header() + money_interval_csv_header() : "") + "\n";
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
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}",
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
    out += interval_csv_cells(p, Figures::of_trace);
    out += (money ? money_csv_cells(p.money) + money_interval_csv_cells(p.money) : "") + "\n";
  }
  return out;
}

}  // namespace stepsight
