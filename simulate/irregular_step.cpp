#include "simulate/irregular_step.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "simulate/predict.h"
#include "simulate/study.h"

namespace stepsight {

namespace {

// Logarithm of the normal distribution function.
double log_normal_below(double z) {
  // erfc keeps its precision in the lower tail; beyond it the logarithm is far below any product's.
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return below > 0 ? std::log(below) : -800;
}

}  // namespace

double slowest_of(const Irregular& irregular, std::int64_t ranks) {
  if (ranks <= 1) return 1;
  const double slow = irregular.slow_factor * irregular.batch_imbalance;
  const double sd = irregular.jitter;
  if (sd <= 0) return std::max(slow, 1.0);
  const auto others = static_cast<double>(ranks - 1);
  const auto log_all_below = [&](double x) {
    return log_normal_below((x - slow) / (slow * sd)) + others * log_normal_below((x - 1) / sd);
  };
  // No rank of a million is ten deviations off. Simpson's rule; the integrand falls from 1 to 0.
  const double from = 1 - 10 * sd;
  const double to = std::max(slow, 1.0) * (1 + 10 * sd);
  constexpr int pieces = 2000;
  const double width = (to - from) / pieces;
  double sum = 0;
  for (int i = 0; i <= pieces; ++i) {
    const double weight = i == 0 || i == pieces ? 1 : (i % 2 == 1 ? 4 : 2);
    sum += weight * -std::expm1(log_all_below(from + i * width));
  }
  return std::max(1.0, from + sum * width / 3);
}

double card_slowdown(const Scenario& scenario, const GpuProfile& card, const GpuProfile& other) {
  Scenario alone = on_one_gpu(scenario, false);
  alone.irregular = {};
  return std::max(1.0, predict_step(alone, other).value / predict_step(alone, card).value);
}

Seconds loading_time(const Scenario& scenario) {
  const Irregular& i = scenario.irregular;
  double rate = 0;  // samples/s of one GPU; 0: no limit
  if (i.loader_workers > 0) rate = static_cast<double>(i.loader_workers) * i.worker_samples_per_s;
  if (i.node_samples_per_s > 0) {
    const std::int64_t gpus = scenario.cluster.gpus;
    const std::int64_t nodes = std::min(scenario.cluster.nodes, gpus);
    const double share =
        i.node_samples_per_s * static_cast<double>(nodes) / static_cast<double>(gpus);
    rate = rate > 0 ? std::min(rate, share) : share;
  }
  if (rate <= 0) return {};
  // Ranks that split one model share its samples.
  const Parallel& p = scenario.parallel;
  const auto sharing = static_cast<double>(p.tensor * p.context * p.pipeline);
  const auto samples =
      static_cast<double>(scenario.training.batch * scenario.training.accumulation);
  return Seconds{samples / (rate * sharing)};
}

Seconds stall_time(const Scenario& scenario) {
  const Irregular& i = scenario.irregular;
  if (i.stall_steps <= 0) return {};
  return Seconds{i.stall_s / static_cast<double>(i.stall_steps)};
}

void disturb(const Scenario& scenario, Seconds among_unequal, Prediction& out) {
  const Seconds regular = out.step;
  const Seconds slowed = std::max(regular, among_unequal);
  const Seconds fed = std::max(slowed, loading_time(scenario));
  out.attribution.slowest = (slowed - regular).value;
  out.attribution.loading = (fed - slowed).value;
  out.attribution.stalls = stall_time(scenario).value;
  out.step = with_waits(scenario, slowed);
  const double longer = out.step.value / regular.value;
  out.samples_per_s /= longer;
  out.tokens_per_s /= longer;
  out.mfu /= longer;
  out.communication_share /= longer;
  out.host_bound = out.host_s > 0.98 * out.step.value;
}

Seconds with_waits(const Scenario& scenario, Seconds step) {
  return Seconds{std::max(step.value, loading_time(scenario).value) + stall_time(scenario).value};
}

}  // namespace stepsight
