#include "simulate/uncertainty.h"

#include <algorithm>
#include <cmath>

namespace stepsight {

namespace {

// An input this far down the list says nothing of whether a question is inside what was calibrated.
constexpr double matters = 0.1;           // elasticity of the step
constexpr double much_unmeasured = 0.02;  // share of kernel time far from every measured point

double& at(ErrorShares& shares, ErrorTerm term) { return shares[static_cast<std::size_t>(term)]; }

// The part of a pipeline's step in which a stage waits for others, of equal stages: (p - 1) of
// m v + p - 1 slots (Narayanan et al. 2021).
double bubble_share(const Scenario& s) {
  const auto p = static_cast<double>(s.parallel.pipeline);
  if (p <= 1) return 0;
  const auto slots = static_cast<double>(s.training.accumulation * s.parallel.chunks);
  return (p - 1) / (slots + p - 1);
}

// A question to the simulator that cannot change the step is not asked.
bool worth_asking(StepInput input, const InputSpread& spread, const StepTime& now) {
  const double host = now.totals.host_seconds * std::exp(2 * spread.log_sd);
  return spread.log_sd > 0 && (input != StepInput::host || host > 0.5 * now.step.value);
}

ErrorShares error_shares(const InputSpreads& spreads,
                         const InputChanges& effects,
                         const StepTime& now,
                         const Scenario& scenario) {
  ErrorShares out{};
  at(out, ErrorTerm::any) = 1;
  for (std::size_t i = 0; i < step_input_count; ++i) {
    if (spreads[i].log_sd <= 0) continue;
    const double elasticity = std::abs(effects[i]) / spreads[i].log_sd;
    const bool by_class = spreads[i].origin != InputOrigin::measured;
    switch (static_cast<StepInput>(i)) {
      case StepInput::products:
      case StepInput::attention:
      case StepInput::convolutions:
        if (by_class) at(out, ErrorTerm::class_compute) += elasticity;
        break;
      case StepInput::memory:
        if (by_class) at(out, ErrorTerm::class_memory) += elasticity;
        break;
      case StepInput::host: at(out, ErrorTerm::host) += elasticity; break;
      case StepInput::link_latency:
      case StepInput::link_bandwidth:
        at(out, by_class ? ErrorTerm::class_link : ErrorTerm::measured_link) += elasticity;
        break;
      default: break;
    }
  }
  at(out, ErrorTerm::bubble) = bubble_share(scenario);
  double kernels = 0;
  for (const double seconds : now.totals.kernel_seconds) kernels += seconds;
  at(out, ErrorTerm::unmeasured) = kernels > 0 ? now.totals.unmeasured_seconds / kernels : 0;
  return out;
}

// The term that is the model's error about an input, if any.
ErrorTerm term_of(StepInput input, InputOrigin origin) {
  const bool by_class = origin != InputOrigin::measured;
  switch (input) {
    case StepInput::host: return ErrorTerm::host;
    case StepInput::link_latency:
    case StepInput::link_bandwidth:
      return by_class ? ErrorTerm::class_link : ErrorTerm::measured_link;
    case StepInput::products:
    case StepInput::attention:
    case StepInput::convolutions: return by_class ? ErrorTerm::class_compute : ErrorTerm::any;
    case StepInput::memory: return by_class ? ErrorTerm::class_memory : ErrorTerm::any;
    default: return ErrorTerm::any;
  }
}

// What measuring the input would take away of the variance: its parameters' and the terms that are
// there because nobody measured it on that machine.
std::vector<Contribution> contributions(const Uncertainty& u,
                                        const InputSpreads& spreads,
                                        const Scenario& scenario,
                                        const ModelError& error) {
  std::vector<Contribution> out;
  double total = u.log_sd * u.log_sd;
  double of_model = error_variance(error, u.shares);
  for (std::size_t i = 0; i < step_input_count; ++i) {
    if (u.effects[i] == 0 || spreads[i].log_sd <= 0) continue;
    const auto input = static_cast<StepInput>(i);
    const ErrorTerm term = term_of(input, spreads[i].origin);
    double variance = u.effects[i] * u.effects[i];
    if (term != ErrorTerm::any) {
      // Where inputs share a term each has its part of it.
      const double share = u.shares[static_cast<std::size_t>(term)];
      const double whole = std::pow(error.sd[static_cast<std::size_t>(term)] * share, 2);
      const double part =
          share > 0 ? whole * std::abs(u.effects[i]) / spreads[i].log_sd / share : 0;
      variance += part;
      of_model -= part;
    }
    out.push_back({std::string(step_input_names[i]),
                   std::sqrt(variance),
                   total > 0 ? variance / total : 0,
                   spreads[i].origin,
                   measuring_command(input, scenario.cluster)});
  }
  of_model = std::max(of_model, 0.0);
  if (of_model > 0) {
    out.push_back({"the model itself",
                   std::sqrt(of_model),
                   total > 0 ? of_model / total : 0,
                   InputOrigin::measured,
                   ""});
  }
  std::ranges::stable_sort(out, std::greater{}, &Contribution::share);
  return out;
}

void tell_what_is_outside(Uncertainty& u, const InputSpreads& spreads) {
  const auto add = [&](std::string_view what) {
    u.inside_calibration = false;
    u.outside += (u.outside.empty() ? "" : ", ") + std::string(what);
  };
  for (std::size_t i = 0; i < step_input_count; ++i) {
    if (spreads[i].log_sd <= 0 || spreads[i].origin != InputOrigin::class_value) continue;
    if (std::abs(u.effects[i]) / spreads[i].log_sd > matters) add(step_input_names[i]);
  }
  if (at(u.shares, ErrorTerm::unmeasured) > much_unmeasured && u.inside_calibration) {
    add("shapes far from every measured one");
  }
}

}  // namespace

Uncertainty uncertainty_of(const Scenario& scenario,
                           const GpuProfile& gpu,
                           Seconds step,
                           const ModelError& error) {
  const PerturbedStep question(scenario, gpu);
  const InputSpreads spreads = input_spreads(gpu, scenario, question.links());
  const StepTime now = question.step();
  Uncertainty out;
  double variance = 0;
  for (std::size_t i = 0; i < step_input_count; ++i) {
    const auto input = static_cast<StepInput>(i);
    if (!question.uses(input) || !worth_asking(input, spreads[i], now)) continue;
    InputChanges changes{};
    changes[i] = spreads[i].log_sd;
    out.effects[i] = std::log(question.step(changes).step / now.step);
    variance += out.effects[i] * out.effects[i];
  }
  out.parameter_log_sd = std::sqrt(variance);
  out.shares = error_shares(spreads, out.effects, now, scenario);
  out.log_sd = std::sqrt(variance + error_variance(error, out.shares));
  out.step = interval_of(step.value, out.log_sd, error.low, error.high);
  out.contributions = contributions(out, spreads, scenario, error);
  tell_what_is_outside(out, spreads);
  return out;
}

Uncertainty uncertainty_of(const Scenario& scenario,
                           const GpuProfile& gpu,
                           const Prediction& prediction,
                           const ModelError& error) {
  return uncertainty_of(scenario, gpu, prediction.step, error);
}

const Contribution* weakest_input(const Uncertainty& uncertainty) {
  for (const Contribution& c : uncertainty.contributions) {
    if (!c.command.empty() && c.share > 0) return &c;
  }
  return nullptr;
}

double ratio_parameter_variance(const Uncertainty& a, const Uncertainty& b) {
  double variance = 0;
  for (std::size_t i = 0; i < step_input_count; ++i) {
    const double difference = a.effects[i] - b.effects[i];
    variance += difference * difference;
  }
  return variance;
}

ErrorShares share_differences(const Uncertainty& a, const Uncertainty& b) {
  ErrorShares out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = a.shares[i] - b.shares[i];
  return out;
}

Quantiles ratio_interval(double ratio,
                         const Uncertainty& a,
                         const Uncertainty& b,
                         const ModelError& error) {
  const ErrorShares differences = share_differences(a, b);
  double variance = ratio_parameter_variance(a, b) + error_variance(error, differences);
  // Two predictions that depend on nothing differently are one and the same.
  if (variance > 0) variance += error.ratio_sd * error.ratio_sd;
  return interval_of(ratio, std::sqrt(variance), error.ratio_low, error.ratio_high);
}

}  // namespace stepsight
