#include "simulate/learn_model_error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "model/errors.h"

namespace stepsight {

namespace {

constexpr double degrees_of_freedom = 4;
constexpr int rounds = 400;
constexpr std::size_t fewest_samples = 20;
constexpr double start_sd = 0.1;
constexpr double settled = 1e-5;  // change of a term's width in a round

// One residual with what its variance is made of.
struct Residual {
  double value = 0;
  double weight = 1;
  double variance = 0;  // of the inputs
  ErrorShares shares{};
};

double variance_of(const Residual& r, const ErrorShares& squares, double more) {
  double variance = r.variance + more;
  for (std::size_t j = 0; j < squares.size(); ++j) {
    variance += squares[j] * r.shares[j] * r.shares[j];
  }
  return std::max(variance, 1e-8);
}

// Weight of a residual in a Student t likelihood, and its slope by variance.
struct Pull {
  double up = 0;    // what asks for more variance
  double down = 0;  // what asks for less
};
Pull pull_of(const Residual& r, double variance) {
  const double square = r.value * r.value / variance;
  const double trust = (degrees_of_freedom + 1) / (degrees_of_freedom + square);
  return {r.weight * trust * square / variance, r.weight / variance};
}

// Majorise-minimise for non-negative components of variance (as multiplicative updates are for
// non-negative factors): each square grows or shrinks by the root of what asks for more over what
// asks for less, and the likelihood never falls.
ErrorShares fit_squares(std::span<const Residual> residuals) {
  ErrorShares squares;
  squares.fill(start_sd * start_sd);
  for (int round = 0; round < rounds; ++round) {
    ErrorShares up{}, down{};
    for (const Residual& r : residuals) {
      const Pull pull = pull_of(r, variance_of(r, squares, 0));
      for (std::size_t j = 0; j < squares.size(); ++j) {
        const double share = r.shares[j] * r.shares[j];
        up[j] += pull.up * share;
        down[j] += pull.down * share;
      }
    }
    double change = 0;
    for (std::size_t j = 0; j < squares.size(); ++j) {
      const double factor = down[j] > 0 ? std::sqrt(up[j] / down[j]) : 0;
      change = std::max(change, std::abs(factor - 1) * std::sqrt(squares[j]));
      squares[j] *= factor;
    }
    if (change < settled) break;
  }
  return squares;
}

// The same for one component that all residuals have.
double fit_common(std::span<const Residual> residuals, const ErrorShares& squares) {
  double common = start_sd * start_sd;
  for (int round = 0; round < rounds; ++round) {
    Pull sum;
    for (const Residual& r : residuals) {
      const Pull pull = pull_of(r, variance_of(r, squares, common));
      sum.up += pull.up;
      sum.down += pull.down;
    }
    if (sum.down > 0) common *= std::sqrt(sum.up / sum.down);
  }
  return common;
}

double quantile(std::vector<std::pair<double, double>> weighted, double at) {
  std::ranges::sort(weighted);
  double total = 0;
  for (const auto& [value, weight] : weighted) total += weight;
  double below = 0;
  for (const auto& [value, weight] : weighted) {
    below += weight;
    if (below >= at * total) return value;
  }
  return weighted.back().first;
}

struct Tails {
  double low = 0;
  double high = 0;
};
Tails tails_of(std::span<const Residual> residuals, const ErrorShares& squares, double common) {
  std::vector<std::pair<double, double>> standardised;
  for (const Residual& r : residuals) {
    standardised.emplace_back(r.value / std::sqrt(variance_of(r, squares, common)), r.weight);
  }
  // The prediction itself always lies inside.
  return {std::min(quantile(standardised, 0.05), -0.1),
          std::max(quantile(standardised, 0.95), 0.1)};
}

std::map<std::string, double> rows_by_group(std::span<const ErrorSample> samples) {
  std::map<std::string, double> out;
  for (const ErrorSample& s : samples) out[s.group] += 1;
  return out;
}

std::vector<Residual> residuals_of(std::span<const ErrorSample> samples) {
  const std::map<std::string, double> rows = rows_by_group(samples);
  std::vector<Residual> out;
  for (const ErrorSample& s : samples) {
    Residual r{s.log_error, 1 / std::sqrt(rows.at(s.group)), 0, s.uncertainty.shares};
    for (const double effect : s.uncertainty.effects) r.variance += effect * effect;
    out.push_back(r);
  }
  return out;
}

// Each run with the one of the fewest GPUs that does the same work: of time on few over time on
// many.
std::vector<Residual> ratio_residuals(std::span<const ErrorSample> samples) {
  std::map<std::string, const ErrorSample*> least;
  for (const ErrorSample& s : samples) {
    const ErrorSample*& base = least[s.same_work];
    if (base == nullptr || s.gpus < base->gpus) base = &s;
  }
  std::map<std::string, double> rows;
  for (const ErrorSample& s : samples) rows[s.group] += s.gpus > least[s.same_work]->gpus ? 1 : 0;
  std::vector<Residual> out;
  for (const ErrorSample& s : samples) {
    const ErrorSample& base = *least[s.same_work];
    if (s.gpus <= base.gpus) continue;
    out.push_back({base.log_error - s.log_error,
                   1 / std::sqrt(rows[s.group]),
                   ratio_parameter_variance(base.uncertainty, s.uncertainty),
                   share_differences(base.uncertainty, s.uncertainty)});
  }
  return out;
}

}  // namespace

std::string error_group(std::string_view source, std::string_view gpu) {
  return std::string(source.substr(0, source.find(':'))) + " " + std::string(gpu);
}

ModelError learn_model_error(std::span<const ErrorSample> samples) {
  if (samples.size() < fewest_samples) {
    throw UserError("the model's error needs at least " + std::to_string(fewest_samples) +
                    " predicted runs, got " + std::to_string(samples.size()));
  }
  ModelError out;
  const std::vector<Residual> residuals = residuals_of(samples);
  const ErrorShares squares = fit_squares(residuals);
  for (std::size_t j = 0; j < squares.size(); ++j) out.sd[j] = std::sqrt(squares[j]);
  const Tails tails = tails_of(residuals, squares, 0);
  out.low = tails.low;
  out.high = tails.high;
  const std::vector<Residual> ratios = ratio_residuals(samples);
  out.ratio_sd = out.sd[static_cast<std::size_t>(ErrorTerm::any)];
  if (ratios.size() >= fewest_samples) {
    const double common = fit_common(ratios, squares);
    out.ratio_sd = std::sqrt(common);
    const Tails of_ratios = tails_of(ratios, squares, common);
    out.ratio_low = of_ratios.low;
    out.ratio_high = of_ratios.high;
  }
  out.rows = samples.size();
  out.groups = rows_by_group(samples).size();
  return out;
}

std::vector<LogInterval> held_out_intervals(std::span<const ErrorSample> samples) {
  std::vector<LogInterval> out(samples.size());
  for (const auto& [group, rows] : rows_by_group(samples)) {
    std::vector<ErrorSample> others;
    for (const ErrorSample& s : samples) {
      if (s.group != group) others.push_back(s);
    }
    const ModelError error = learn_model_error(others);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (samples[i].group != group) continue;
      const Uncertainty& u = samples[i].uncertainty;
      double variance = error_variance(error, u.shares);
      for (const double effect : u.effects) variance += effect * effect;
      out[i] = {error.low * std::sqrt(variance), error.high * std::sqrt(variance)};
    }
  }
  return out;
}

}  // namespace stepsight
