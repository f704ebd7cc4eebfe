#include "simulate/host_fit.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "simulate/predict.h"

namespace stepsight {

namespace {

double mean_error(const std::vector<HostRun>& runs, const GpuProfile& gpu, double factor) {
  const GpuProfile scaled = with_host_factor(gpu, factor);
  double sum = 0;
  for (const HostRun& r : runs) {
    sum += std::abs(std::log(predict_step(r.scenario, scaled).value / r.measured_s));
  }
  return sum / static_cast<double>(runs.size());
}

constexpr int grid = 25;         // factors 14 % apart, so that no valley between two is missed
constexpr int refinements = 12;  // each a third of the interval away

}  // namespace

GpuProfile with_host_factor(const GpuProfile& gpu, double factor) {
  GpuProfile out = gpu;
  for (const auto& field : HostParameters<double>::fields()) out.host.*field.member *= factor;
  return out;
}

double fit_host_factor(const std::vector<HostRun>& runs, const GpuProfile& gpu) {
  if (runs.empty()) throw std::logic_error("fit_host_factor: no run");
  const double low = std::log(least_host_factor);
  const double step = (std::log(largest_host_factor) - low) / (grid - 1);
  const auto error_at = [&](double log_factor) {
    return mean_error(runs, gpu, std::exp(log_factor));
  };
  double best = 0;
  double least = error_at(0);
  for (int i = 0; i < grid; ++i) {
    const double at = low + i * step;
    const double error = error_at(at);
    if (error >= least) continue;
    least = error;
    best = at;
  }
  double from = std::max(best - step, low);
  double to = std::min(best + step, std::log(largest_host_factor));
  for (int i = 0; i < refinements; ++i) {
    const double a = from + (to - from) / 3;
    const double b = to - (to - from) / 3;
    if (error_at(a) <= error_at(b)) {
      to = b;
    } else {
      from = a;
    }
  }
  const double middle = (from + to) / 2;
  return std::exp(error_at(middle) < least ? middle : best);
}

std::vector<std::size_t> spread_evenly(std::size_t rows, std::size_t count) {
  std::vector<std::size_t> out;
  const std::size_t taken = std::min(rows, count);
  for (std::size_t i = 0; i < taken; ++i) out.push_back((2 * i + 1) * rows / (2 * taken));
  return out;
}

}  // namespace stepsight
