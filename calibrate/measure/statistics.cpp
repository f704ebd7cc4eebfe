#include "calibrate/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace stepsight::calibrate {

double quantile(std::span<const double> sorted, double p) {
  if (sorted.empty()) throw std::logic_error("quantile of no samples");
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

Summary summarize(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  Summary result;
  result.median = quantile(sorted, 0.5);
  result.q1 = quantile(sorted, 0.25);
  result.q3 = quantile(sorted, 0.75);
  result.min = sorted.front();
  result.n = static_cast<std::int64_t>(sorted.size());
  for (double& value : sorted) value = std::abs(value - result.median);
  std::sort(sorted.begin(), sorted.end());
  result.mad = quantile(sorted, 0.5);
  return result;
}

Summary scaled(const Summary& summary, double factor) {
  return {.median = summary.median * factor,
          .q1 = summary.q1 * factor,
          .q3 = summary.q3 * factor,
          .mad = summary.mad * factor,
          .min = summary.min * factor,
          .n = summary.n};
}

double relative_spread(const Summary& summary) {
  constexpr double median_over_mean = 1.2533141373155;  // sqrt(pi / 2)
  constexpr double sigma_of_mad = 1.4826;
  constexpr double sigma_of_quartiles = 1 / 1.349;
  if (summary.n == 0 || summary.median <= 0) return 0;
  const double sigma =
      std::max(sigma_of_mad * summary.mad, sigma_of_quartiles * (summary.q3 - summary.q1));
  return median_over_mean * sigma / (std::sqrt(static_cast<double>(summary.n)) * summary.median);
}

StartupFit fit_startup(std::span<const double> bytes, std::span<const double> seconds) {
  // Weighted normal equations of t = a + b x with w = 1 / t^2.
  double w = 0;
  double wx = 0;
  double wxx = 0;
  double wt = 0;
  double wxt = 0;
  if (bytes.size() != seconds.size()) throw std::logic_error("fit_startup: sizes differ");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const double t = seconds[i];
    if (!(t > 0)) throw std::logic_error("fit_startup: a time is not positive");
    const double weight = 1 / (t * t);
    w += weight;
    wx += weight * bytes[i];
    wxx += weight * bytes[i] * bytes[i];
    wt += weight * t;
    wxt += weight * bytes[i] * t;
  }
  const double determinant = w * wxx - wx * wx;
  if (!(determinant > 1e-12 * w * wxx)) {
    throw std::logic_error("fit_startup: needs two different sizes");
  }
  const double startup = (wt * wxx - wxt * wx) / determinant;
  if (startup < 0) return {.startup_s = 0, .bytes_per_s = wxx / wxt};
  return {.startup_s = startup, .bytes_per_s = determinant / (w * wxt - wx * wt)};
}

}  // namespace stepsight::calibrate
