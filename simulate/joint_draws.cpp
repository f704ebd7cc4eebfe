#include "simulate/joint_draws.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string_view>

namespace stepsight {

namespace {

constexpr double normal_p95 = 1.645;

// FNV-1a: the same seed for the same name everywhere, unlike std::hash.
std::uint64_t seed_of(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

// Above 0 and at most 1.
double uniform(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11) + 1) * 0x1p-53;
}

// By Box and Muller (1958), each with its opposite, so that their mean is 0.
std::vector<double> draw_normals(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> out;
  out.reserve(joint_draws);
  while (out.size() < joint_draws) {
    const double radius = std::sqrt(-2 * std::log(uniform(random)));
    const double z = radius * std::cos(2 * std::numbers::pi * uniform(random));
    out.push_back(z);
    out.push_back(-z);
  }
  return out;
}

// Whose input it is: what another card or link does not share.
std::string owner_of(StepInput input, const Cluster& cluster) {
  switch (input) {
    case StepInput::host:
    case StepInput::host_memory:
      return "";
    case StepInput::link_latency:
    case StepInput::link_bandwidth:
      return cluster.link;
    default:
      return cluster.gpu;
  }
}

std::string owner_of(ErrorTerm term, const Cluster& cluster) {
  switch (term) {
    case ErrorTerm::any:
    case ErrorTerm::host:
    case ErrorTerm::bubble:
      return "";
    case ErrorTerm::class_link:
    case ErrorTerm::measured_link:
      return cluster.link;
    default:
      return cluster.gpu;
  }
}

}  // namespace

const std::vector<double>& JointDraws::normals(const std::string& name) {
  std::vector<double>& out = known_[name];
  if (out.empty()) out = draw_normals(seed_of(name));
  return out;
}

std::vector<double> JointDraws::step_factors(const Cluster& cluster, const Uncertainty& u) {
  std::vector<double> out(joint_draws, 0.0);
  std::string own = "own";  // names everything that the step depends on
  const auto add = [&](double effect, const std::string& name) {
    if (effect == 0) return;
    own += " " + name + "=" + std::to_string(effect);
    const std::vector<double>& z = normals(name);
    for (std::size_t i = 0; i < joint_draws; ++i) out[i] += effect * z[i];
  };
  for (std::size_t i = 0; i < step_input_count; ++i) {
    add(u.effects[i],
        std::string(step_input_names[i]) + " of " + owner_of(static_cast<StepInput>(i), cluster));
  }
  for (const ErrorTermInfo& info : error_terms) {
    add(u.term_log_sd[static_cast<std::size_t>(info.term)],
        "term " + std::string(info.name) + " of " + owner_of(info.term, cluster));
  }
  if (!(u.log_sd > 0) || !(u.step.p5 > 0)) return std::vector<double>(joint_draws, 1.0);
  add(u.ratio_log_sd / std::numbers::sqrt2, own);
  // The quantiles of a step are not those of a normal distribution.
  const double slower = std::log(u.step.p95 / u.step.p50) / (normal_p95 * u.log_sd);
  const double faster = std::log(u.step.p50 / u.step.p5) / (normal_p95 * u.log_sd);
  for (double& x : out) x = std::exp(x * (x > 0 ? slower : faster));
  return out;
}

Ends ends_of(std::vector<double>& values) {
  if (values.empty()) return {};
  const auto at = [&](double share) {
    const auto rank =
        static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
    std::nth_element(values.begin(), values.begin() + rank, values.end());
    return values[static_cast<std::size_t>(rank)];
  };
  const double p5 = at(0.05);
  return {p5, at(0.95)};
}

}  // namespace stepsight
