// The machine-readable forms of a prediction; every number of the text is here, too.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/intervals.h"
#include "reports/json_parts.h"
#include "reports/levers_report.h"
#include "reports/money_report.h"
#include "reports/predict_report.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

using Json = nlohmann::ordered_json;

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
  if (m.host > 0) out["host_bytes"] = m.host;
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
  out["weak"] = scaling_json(p.weak);
  out["strong"] = p.strong ? scaling_json(*p.strong) : Json(nullptr);
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
    out["intervals"] = intervals_json(p, Figures::of_model);
    out["uncertainty"] = uncertainty_json(p.uncertainty);
  }
  if (p.money) out["money"] = money_json(p.scenario, p.money);
  if (p.padded_vocabulary) out["padded_vocabulary_step_s"] = p.padded_vocabulary->value;
  return out;
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
  if (report.between) out["between"] = between_json(*report.between);
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
      "communication_s,peak_memory_bytes,fits,bound_by";
  const bool money =
      std::ranges::any_of(report.points, [](const StudyPoint& p) { return p.money.has_value(); });
  out += interval_csv_header(Figures::of_model);
  const WorthCsv worth = money ? worth_csv(report) : WorthCsv{};
  out += (money ? money_csv_header() + money_interval_csv_header() + worth.header : "") + "\n";
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
    out += fmt::format("{},{},{},{},{},{}",
                       r.mfu,
                       r.exposed_s,
                       r.communication_s,
                       r.memory.needed,
                       r.memory.fits ? "yes" : "no",
                       bound_by(r));
    out += interval_csv_cells(p, Figures::of_model);
    if (money) {
      out += money_csv_cells(p.money) + money_interval_csv_cells(p.money) + worth.cells[i];
    }
    out += "\n";
  }
  return out;
}

}  // namespace stepsight
