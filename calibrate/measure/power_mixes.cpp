#include "calibrate/measure/power_mixes.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace stepsight::calibrate {
namespace {

constexpr double slice_us = 5000;

std::int64_t filling(double once_us) {
  return std::max<std::int64_t>(1, std::llround(slice_us / once_us));
}

}  // namespace

Slice slice_of(const PowerMix& mix, double product_us, double copy_us) {
  constexpr std::int64_t most_products = 4;
  constexpr double most_copies = 20;
  constexpr double close_enough = 0.03;
  if (!(product_us > 0) || !(copy_us > 0))
    throw std::logic_error("a time of a mix is not positive");
  if (mix.product_share >= 1) return {.products = filling(product_us), .copies = 0};
  if (mix.product_share <= 0) return {.products = 0, .copies = filling(copy_us)};
  Slice best;
  double best_error = 2;
  for (std::int64_t products = 1; products <= most_products; ++products) {
    const double busy_us = static_cast<double>(products) * product_us;
    const double wanted = busy_us * (1 / mix.product_share - 1) / copy_us;
    const double copies = std::clamp(std::round(wanted), 1.0, most_copies);
    const double error = std::abs(busy_us / (busy_us + copies * copy_us) - mix.product_share);
    if (error >= best_error) continue;
    best = {.products = products, .copies = std::llround(copies)};
    best_error = error;
    if (error <= close_enough) break;
  }
  return best;
}

double gap_us(const PowerMix& mix, double busy_us) {
  return mix.duty >= 1 ? 0 : busy_us * (1 / mix.duty - 1);
}

MixTimes mix_times(bool full, double budget_s) {
  constexpr double least_factor = 1.0 / 3;
  const MixTimes wanted = full ? MixTimes{.settle_s = 0.5, .measure_s = 1.2}
                               : MixTimes{.settle_s = 0.3, .measure_s = 0.6};
  const double all_s =
      static_cast<double>(power_mixes.size()) * (wanted.settle_s + wanted.measure_s);
  const double factor = std::clamp(budget_s / all_s, least_factor, 1.0);
  return {.settle_s = wanted.settle_s * factor, .measure_s = wanted.measure_s * factor};
}

}  // namespace stepsight::calibrate
