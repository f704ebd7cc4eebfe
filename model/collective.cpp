#include "model/collective.h"

namespace stepsight {

CollectiveCost cost(const CollectiveCurve& curve, Bytes message) {
  const MeasuredSurface::Answer answer =
      curve.points.at({static_cast<float>(std::log2(std::max(message.value, 1.0)))});
  const Seconds formula =
      collective_formula(curve.kind, curve.ranks, message.value, curve.parameters);
  return {formula * std::exp(answer.log_residual), answer.inside()};
}

}  // namespace stepsight
