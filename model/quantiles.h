// A figure with its 90 % interval.
#pragma once

namespace stepsight {

// 5 %, 50 % and 95 % quantiles, in the unit of the figure; p50 is the prediction itself.
// p5 <= p50 <= p95.
struct Quantiles {
  double p5 = 0;
  double p50 = 0;
  double p95 = 0;
};

// Of 1 / x times `work`: a rate from a time. Preconditions: all above 0.
constexpr Quantiles rate_of(const Quantiles& time, double work) {
  return {work / time.p95, work / time.p50, work / time.p5};
}

// Of x times a positive factor.
constexpr Quantiles scaled(const Quantiles& q, double factor) {
  return {q.p5 * factor, q.p50 * factor, q.p95 * factor};
}

}  // namespace stepsight
