#include "simulate/shape_cost.h"

#include "model/errors.h"

namespace stepsight {

Cost collective_cost(const CollectiveQuery& query, const GpuProfile& gpu) {
  std::string known;
  for (const CollectiveCurve& curve : gpu.collectives) {
    if (curve.kind != query.kind) continue;
    if ((query.link.empty() || curve.link == query.link) && curve.ranks == query.gpus) {
      const CollectiveCost c = cost(curve, Bytes{query.bytes});
      return {c.time, c.measured};
    }
    known += (known.empty() ? "" : ", ") + curve.link + " over " + std::to_string(curve.ranks);
  }
  throw UserError(std::string(info(query.kind).name) + " over " + std::to_string(query.gpus) +
                  " GPUs" + (query.link.empty() ? "" : " on " + query.link) +
                  " is not in the profile " + gpu.name +
                  "; known: " + (known.empty() ? "none" : known));
}

}  // namespace stepsight
