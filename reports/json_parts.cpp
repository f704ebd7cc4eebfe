#include "reports/json_parts.h"

#include <nlohmann/json.hpp>

namespace stepsight {

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void add_parts(nlohmann::ordered_json& out, const Prediction& prediction, bool staged) {
  for (const auto& [kind, seconds] : prediction.breakdown) {
    out["breakdown_s"][std::string(name_of(kind))] = seconds;
  }
  const Attribution& a = prediction.attribution;
  out["attribution_s"] = {{"alone", a.alone},
                          {"bucket_copies", a.bucket_copies},
                          {"exposed_communication", a.exposed},
                          {"slow_down", a.slow_down}};
  if (staged) out["attribution_s"]["bubble"] = a.bubble;
  if (a.slowest > 0) out["attribution_s"]["slowest_rank"] = a.slowest;
  if (a.loading > 0) out["attribution_s"]["data_loading"] = a.loading;
  if (a.stalls > 0) out["attribution_s"]["stalls"] = a.stalls;
}

}  // namespace stepsight
