#include "simulate/goodput.h"

#include <algorithm>
#include <cmath>

namespace stepsight {

namespace {

constexpr double hour = 3600;

// T / E of the header.
double kept(double interval, const RunLength& run, double mtbf) {
  const double expected =
      mtbf * std::exp(run.restart_s / mtbf) * std::expm1((interval + run.checkpoint_s) / mtbf);
  return interval / expected;
}

// The share has one maximum in the interval, near sqrt(2 C M) (Young 1974): a golden section around
// it, in the logarithm.
double best_interval(const RunLength& run, double mtbf) {
  const double saving = std::max(run.checkpoint_s, 1e-3);
  const double first = std::log(std::sqrt(2 * saving * mtbf));
  double low = first - 5;
  double high = first + 3;
  const double golden = (std::sqrt(5.0) - 1) / 2;
  const auto at = [&](double x) { return kept(std::exp(x), run, mtbf); };
  for (int i = 0; i < 60; ++i) {
    const double left = high - golden * (high - low);
    const double right = low + golden * (high - low);
    if (at(left) < at(right)) {
      low = left;
    } else {
      high = right;
    }
  }
  return std::exp((low + high) / 2);
}

}  // namespace

Goodput goodput(const RunLength& run, std::int64_t gpus) {
  Goodput out;
  out.interval_s = run.checkpoint_interval_s;
  if (run.gpu_mtbf_hours <= 0) {
    if (out.interval_s > 0) out.share = out.interval_s / (out.interval_s + run.checkpoint_s);
    return out;
  }
  out.mtbf_s = run.gpu_mtbf_hours * hour / static_cast<double>(gpus);
  if (out.interval_s <= 0) out.interval_s = best_interval(run, out.mtbf_s);
  const double share = kept(out.interval_s, run, out.mtbf_s);
  out.share = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
  return out;
}

}  // namespace stepsight
