// The machine-readable forms of a prediction; every number of the text is here, too.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

#include "reports/json_parts.h"
#include "reports/levers_report.h"
#include "reports/money_report.h"
#include "reports/predict_report.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Quantiles& q) {
  return {{"p5", q.p5}, {"p50", q.p50}, {"p95", q.p95}};
}

Json json_of(const ScalingPoint& p) {
  Json out = {{"one_gpu_step_s", p.one_gpu.value},
              {"step_s", p.step.value},
              {"speedup", p.scaling.speedup},
              {"efficiency", p.scaling.efficiency}};
  if (p.speedup.p50 <= 0) return out;
  out["intervals"] = {{"one_gpu_step_s", json_of(p.one_gpu_s)},
                      {"step_s", json_of(p.step_s)},
                      {"speedup", json_of(p.speedup)},
                      {"efficiency", json_of(p.efficiency)}};
  return out;
}

Json json_of(const Uncertainty& u) {
  Json out = {{"log_sd", u.log_sd},
              {"measured_inputs_log_sd", u.parameter_log_sd},
              {"inside_calibration", u.inside_calibration},
              {"outside_calibration", u.outside},
              {"contributions", Json::array()}};
  constexpr std::array<std::string_view, 3> origins{"measured", "between measured sizes", "class value"};
  for (const Contribution& c : u.contributions) {
    out["contributions"].push_back({{"input", c.input},
                                    {"share", c.share},
                                    {"log_sd", c.log_sd},
                                    {"origin", origins[static_cast<std::size_t>(c.origin)]},
                                    {"measure_with", c.command}});
  }
  const Contribution* weakest = weakest_input(u);
  out["weakest_input"] = weakest != nullptr ? Json(weakest->input) : Json(nullptr);
  out["measure_first"] = weakest != nullptr ? Json(weakest->command) : Json(nullptr);
  return out;
}

Json json_of(const Memory& m) {
  Json out = {{"parameters_bytes", m.parameters},
              {"gradients_bytes", m.gradients},
              {"optimizer_bytes", m.optimizer},
              {"activations_bytes", m.activations},
              {"buckets_bytes", m.buckets},
              {"peak_bytes", m.peak},
              {"reserve_bytes", m.reserve},
              {"needed_bytes", m.needed},
              {"peak_at", memory_moment_names[static_cast<std::size_t>(m.moment)]},
              {"peak_stage", m.stage},
              {"fits", m.fits},
              {"largest_batch", m.largest_batch},
              {"largest_part", largest_part(m.at_peak).name}};
  for (const MemoryPart& part : memory_parts) {
    out["at_peak"][std::string(part.name) + "_bytes"] = m.at_peak.*part.bytes;
  }
  out["remedies"] = Json::array();
  for (const Remedy& r : m.remedies) {
    Json remedy = {{"remedy", remedy_names[static_cast<std::size_t>(r.kind)]},
                   {"needed_bytes", r.needed},
                   {"fits", r.fits}};
    if (r.kind == RemedyKind::smaller_batch) remedy["batch"] = r.value;
    if (r.kind == RemedyKind::shard || r.kind == RemedyKind::more_gpus) remedy["gpus"] = r.value;
    out["remedies"].push_back(std::move(remedy));
  }
  return out;
}

// A number or a truth value where the text is one, so that 4 does not become "4".
Json value_of(const std::string& text) {
  const Json value = Json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : Json(text);
}

Json identity_of(const Scenario& s) {
  return {{"model", s.model.name},
          {"gpu", s.cluster.gpu},
          {"gpus", s.cluster.gpus},
          {"link", s.cluster.link},
          {"batch", s.training.batch},
          {"seq", s.training.seq},
          {"accumulation", s.training.accumulation},
          {"precision", name_of(s.training.precision)}};
}

// Axes whose key is none of identity_of()'s.
std::vector<std::size_t> further_axes(const PredictReport& report) {
  const Json named = identity_of(report.points.front().scenario);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < report.axes.size(); ++i) {
    if (!named.contains(report.axes[i]) && report.axes[i] != "name") out.push_back(i);
  }
  return out;
}

void add_figures(Json& out, const StudyPoint& p) {
  const Prediction& r = p.prediction;
  out["step_time_s"] = r.step.value;
  out["samples_per_s"] = r.samples_per_s;
  out["tokens_per_s"] = r.tokens_per_s;
  out["weak"] = json_of(p.weak);
  out["strong"] = p.strong ? json_of(*p.strong) : Json(nullptr);
  out["mfu"] = r.mfu;
  out["exposed_communication_s"] = r.exposed_s;
  out["communication_s"] = r.communication_s;
  out["communication_share"] = r.communication_share;
  out["message_bytes"] = r.message_bytes;
  out["buckets"] = r.buckets;
  out["host_s"] = r.host_s;
  out["gpu_busy_s"] = r.gpu_busy_s;
  out["clock"] = r.clock;
  out["bound_by"] = bound_by(r);
  out["unmeasured_share"] = r.unmeasured_share;
  out["memory"] = json_of(r.memory);
}

Json json_of(const StudyPoint& p) {
  const Prediction& r = p.prediction;
  Json out = identity_of(p.scenario);
  add_figures(out, p);
  add_parts(out, r, p.scenario.parallel.pipeline > 1);
  if (p.uncertainty.step.p50 > 0) {
    const Quantiles& step = p.uncertainty.step;
    out["intervals"] = {{"step_time_s", json_of(step)},
                        {"samples_per_s", json_of(rate_of(step, r.samples_per_s * r.step.value))},
                        {"tokens_per_s", json_of(rate_of(step, r.tokens_per_s * r.step.value))},
                        {"mfu", json_of(rate_of(step, r.mfu * r.step.value))}};
    out["uncertainty"] = json_of(p.uncertainty);
  }
  if (p.money) out["money"] = money_json(p.scenario, p.money);
  if (p.padded_vocabulary) out["padded_vocabulary_step_s"] = p.padded_vocabulary->value;
  return out;
}

// The ends of an interval as two cells, empty without one.
std::string ends(const Quantiles& q) {
  return q.p50 > 0 ? fmt::format("{},{}", q.p5, q.p95) : ",";
}

}  // namespace

std::string predict_json(const PredictReport& report) {
  const std::vector<std::size_t> further = further_axes(report);
  Json out = {{"schema", 1}, {"title", report.title}, {"axes", report.axes}};
  out["points"] = Json::array();
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    Json point;
    for (const std::size_t a : further) point[report.axes[a]] = value_of(report.coordinates[i][a]);
    point.update(json_of(report.points[i]));
    out["points"].push_back(std::move(point));
  }
  if (!report.levers.empty()) out["levers"] = levers_json(report.levers);
  if (report.points.front().money) out["worth"] = worth_json(report);
  out["notes"] = report.notes;
  return json_text(out) + "\n";
}

std::string predict_csv(const PredictReport& report) {
  const std::vector<std::size_t> further = further_axes(report);
  std::string out;
  for (const std::size_t a : further) out += report.axes[a] + ",";
  out +=
      "model,gpu,gpus,link,batch,seq,accumulation,precision,step_time_s,samples_per_s,tokens_per_s,"
      "weak_speedup,weak_efficiency,strong_speedup,strong_efficiency,mfu,exposed_communication_s,"
      "communication_s,peak_memory_bytes,fits,bound_by,step_time_p5_s,step_time_p95_s,"
      "weak_speedup_p5,weak_speedup_p95,strong_speedup_p5,strong_speedup_p95";
  const bool money = std::ranges::any_of(
      report.points, [](const StudyPoint& p) { return p.money.has_value(); });
  out += (money ? money_csv_header() : "") + "\n";
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const StudyPoint& p = report.points[i];
    const Prediction& r = p.prediction;
    const Scenario& s = p.scenario;
    for (const std::size_t a : further) out += csv_cell(report.coordinates[i][a]) + ",";
    out += fmt::format("{},{},{},{},",
                       csv_cell(s.model.name),
                       csv_cell(s.cluster.gpu),
                       s.cluster.gpus,
                       csv_cell(s.cluster.link));
    out += fmt::format("{},{},{},{},",
                       s.training.batch,
                       s.training.seq,
                       s.training.accumulation,
                       name_of(s.training.precision));
    out += fmt::format("{},{},{},{},{},",
                       r.step.value,
                       r.samples_per_s,
                       r.tokens_per_s,
                       p.weak.scaling.speedup,
                       p.weak.scaling.efficiency);
    out += p.strong ? fmt::format("{},{},", p.strong->scaling.speedup, p.strong->scaling.efficiency)
                    : std::string(",,");
    out += fmt::format("{},{},{},{},{},{},",
                       r.mfu,
                       r.exposed_s,
                       r.communication_s,
                       r.memory.needed,
                       r.memory.fits ? "yes" : "no",
                       bound_by(r));
    out += ends(p.uncertainty.step) + "," + ends(p.weak.speedup) + "," +
           ends(p.strong ? p.strong->speedup : Quantiles{});
    out += (money ? money_csv_cells(p.money) : "") + "\n";
  }
  return out;
}

}  // namespace stepsight
