// The machine-readable forms of a prediction; every number of the text is here, too.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/predict_report.h"

namespace stepsight {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ScalingPoint& p) {
  return {{"one_gpu_step_s", p.one_gpu.value},
          {"step_s", p.step.value},
          {"speedup", p.scaling.speedup},
          {"efficiency", p.scaling.efficiency}};
}

Json json_of(const Memory& m) {
  return {{"parameters_bytes", m.parameters}, {"gradients_bytes", m.gradients},
          {"optimizer_bytes", m.optimizer},   {"activations_bytes", m.activations},
          {"buckets_bytes", m.buckets},       {"reserve_bytes", m.reserve},
          {"peak_bytes", m.peak},             {"fits", m.fits},
          {"largest_batch", m.largest_batch}};
}

std::string bound_by(const Prediction& r) {
  if (r.host_bound) return "host";
  return r.exposed_s > 0.15 * r.step.value ? "link" : "gpu";
}

Json json_of(const StudyPoint& p) {
  const Prediction& r = p.prediction;
  const Scenario& s = p.scenario;
  Json out = {{"model", s.model.name},
              {"gpu", s.cluster.gpu},
              {"gpus", s.cluster.gpus},
              {"link", s.cluster.link},
              {"batch", s.training.batch},
              {"seq", s.training.seq},
              {"accumulation", s.training.accumulation},
              {"step_time_s", r.step.value},
              {"samples_per_s", r.samples_per_s},
              {"tokens_per_s", r.tokens_per_s},
              {"weak", json_of(p.weak)},
              {"strong", p.strong ? json_of(*p.strong) : Json(nullptr)},
              {"mfu", r.mfu},
              {"exposed_communication_s", r.exposed_s},
              {"communication_s", r.communication_s},
              {"communication_share", r.communication_share},
              {"message_bytes", r.message_bytes},
              {"buckets", r.buckets},
              {"host_s", r.host_s},
              {"gpu_busy_s", r.gpu_busy_s},
              {"clock", r.clock},
              {"bound_by", bound_by(r)},
              {"unmeasured_share", r.unmeasured_share},
              {"memory", json_of(r.memory)}};
  for (const auto& [kind, seconds] : r.breakdown) {
    out["breakdown_s"][std::string(name_of(kind))] = seconds;
  }
  const Attribution& a = r.attribution;
  out["attribution_s"] = {{"alone", a.alone},
                          {"bucket_copies", a.bucket_copies},
                          {"exposed_communication", a.exposed},
                          {"slow_down", a.slow_down}};
  if (p.padded_vocabulary) out["padded_vocabulary_step_s"] = p.padded_vocabulary->value;
  return out;
}

}  // namespace

std::string predict_json(const PredictReport& report) {
  Json out = {{"schema", 1}, {"title", report.title}, {"axes", report.axes}};
  out["points"] = Json::array();
  for (const StudyPoint& p : report.points) out["points"].push_back(json_of(p));
  out["notes"] = report.notes;
  return out.dump(1) + "\n";
}

std::string predict_csv(const PredictReport& report) {
  std::string out =
      "model,gpu,gpus,link,batch,seq,accumulation,step_time_s,samples_per_s,tokens_per_s,"
      "weak_speedup,weak_efficiency,strong_speedup,strong_efficiency,mfu,exposed_communication_s,"
      "communication_s,peak_memory_bytes,fits,bound_by\n";
  for (const StudyPoint& p : report.points) {
    const Prediction& r = p.prediction;
    const Scenario& s = p.scenario;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", s.model.name,
                       s.cluster.gpu, s.cluster.gpus, s.cluster.link, s.training.batch,
                       s.training.seq, s.training.accumulation, r.step.value, r.samples_per_s,
                       r.tokens_per_s, p.weak.scaling.speedup, p.weak.scaling.efficiency,
                       p.strong ? fmt::format("{}", p.strong->scaling.speedup) : "",
                       p.strong ? fmt::format("{}", p.strong->scaling.efficiency) : "", r.mfu,
                       r.exposed_s, r.communication_s, r.memory.peak, r.memory.fits ? "yes" : "no",
                       bound_by(r));
  }
  return out;
}

}  // namespace stepsight
