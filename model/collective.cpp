#include "model/collective.h"

namespace stepsight {

CollectiveCost cost(const CollectiveCurve& curve, Bytes message) {
  const auto formula = [&](double bytes) {
    return collective_formula(curve.kind, curve.ranks, bytes, curve.parameters).value;
  };
  return {Seconds{curve.points.time(message.value, formula)}, curve.points.near(message.value)};
}

}  // namespace stepsight
