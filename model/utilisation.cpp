#include "model/utilisation.h"

#include <algorithm>
#include <cmath>

namespace stepsight {

namespace {

double mean_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v);
  return sum / static_cast<double>(values.size());
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The mean over the GPUs, sample by sample, as far as all have one.
std::vector<double> together(const UtilisationSamples& samples) {
  std::size_t length = SIZE_MAX;
  for (const auto& [gpu, s] : samples.gpus) length = std::min(length, s.busy.size());
  std::vector<double> out(length, 0.0);
  for (const auto& [gpu, s] : samples.gpus) {
    for (std::size_t i = 0; i < length; ++i) {
      out[i] += static_cast<double>(s.busy[i]) / static_cast<double>(samples.gpus.size());
    }
  }
  return out;
}

void find_dips(const std::vector<double>& busy, double median, UtilisationVerdict& out) {
  std::vector<double> distances;
  std::optional<std::size_t> last;
  std::size_t low = 0;
  bool inside = false;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    const bool dip = busy[i] < median / 3;
    low += dip ? 1 : 0;
    if (dip && !inside) {
      if (last) distances.push_back(static_cast<double>(i - *last));
      last = i;
    }
    inside = dip;
  }
  out.dip_share = static_cast<double>(low) / static_cast<double>(busy.size());
  if (distances.size() >= 2) out.dip_every = median_of(distances);
}

void find_slow_clock(const UtilisationSamples& samples, UtilisationVerdict& out) {
  std::vector<double> clocks;
  for (const auto& [gpu, s] : samples.gpus) {
    if (s.clock_count > 0) clocks.push_back(s.clock_sum / static_cast<double>(s.clock_count));
  }
  if (clocks.size() < 2 || clocks.size() != samples.gpus.size()) return;
  // Of two cards the faster one is what the other should be.
  const double usual = clocks.size() == 2 ? std::max(clocks[0], clocks[1]) : median_of(clocks);
  for (const auto& [gpu, s] : samples.gpus) {
    const double factor = s.clock_sum / static_cast<double>(s.clock_count) / usual;
    if (factor >= 0.9 || factor >= out.slow_clock_factor) continue;
    out.slow_clock = gpu;
    out.slow_clock_factor = factor;
  }
}

}  // namespace

std::optional<UtilisationVerdict> judge_utilisation(const UtilisationSamples& samples) {
  UtilisationVerdict out;
  for (const auto& [gpu, s] : samples.gpus) {
    if (!s.busy.empty()) out.mean[gpu] = mean_of(s.busy);
  }
  if (out.mean.empty() || out.mean.size() != samples.gpus.size()) return std::nullopt;
  const auto by_mean = [](const auto& a, const auto& b) { return a.second < b.second; };
  out.busiest = std::ranges::max_element(out.mean, by_mean)->first;
  out.idlest = std::ranges::min_element(out.mean, by_mean)->first;
  const std::vector<double> busy = together(samples);
  const double median = median_of(busy);
  find_dips(busy, median, out);
  find_slow_clock(samples, out);
  double mean = 0;
  for (const auto& [gpu, m] : out.mean) mean += m / static_cast<double>(out.mean.size());
  const double least = out.mean.at(out.idlest);
  if (out.mean.at(out.busiest) - least >= 30 && least < 60) {
    out.shape = UtilisationShape::one_low;
  } else if (median >= 60 && out.dip_share >= 0.05) {
    out.shape = UtilisationShape::dips;
  } else if (mean < 60) {
    out.shape = UtilisationShape::all_low;
  }
  return out;
}

std::string describe(const UtilisationVerdict& v) {
  const auto percent = [](double p) { return std::to_string(std::lround(p)) + " %"; };
  switch (v.shape) {
    case UtilisationShape::one_low:
      return "GPU " + std::to_string(v.busiest) + " is busy (" + percent(v.mean.at(v.busiest)) +
             "), GPU " + std::to_string(v.idlest) + " is not (" + percent(v.mean.at(v.idlest)) +
             "): DataParallel, a card that waits for a slower one, or one that does nothing";
    case UtilisationShape::dips:
      return "all GPUs stop together in " + percent(100 * v.dip_share) +
             " of the samples: the data loader, checkpoints or evaluation";
    case UtilisationShape::all_low:
      return "no GPU is busy (at most " + percent(v.mean.at(v.busiest)) +
             "): the host sets the pace";
    case UtilisationShape::all_high:
      break;
  }
  return "all GPUs are busy (at least " + percent(v.mean.at(v.idlest)) +
         "); NCCL's kernels count as busy while they wait for the link";
}

}  // namespace stepsight
