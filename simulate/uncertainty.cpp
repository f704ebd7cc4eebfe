#include "simulate/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "simulate/perturbed_step.h"

namespace stepsight {

namespace {

// An input this far down the list says nothing of whether a question is inside what was calibrated.
constexpr double matters = 0.1;           // elasticity of the step
constexpr double much_unmeasured = 0.02;  // share of kernel time far from every measured point

double& at(ErrorShares& shares, ErrorTerm term) {
  return shares[static_cast<std::size_t>(term)];
}

// The part of a pipeline's step in which a stage waits for others, of equal stages: (p - 1) of
// m v + p - 1 slots (Narayanan et al. 2021).
double bubble_share(const Scenario& s) {
  const auto p = static_cast<double>(s.parallel.pipeline);
  if (p <= 1) return 0;
  const auto slots = static_cast<double>(s.training.accumulation * s.parallel.chunks);
  return (p - 1) / (slots + p - 1);
}

// How far an input is moved to see what it does: as far as a class value may be off.
constexpr double nudge = 0.1;
constexpr double link_nudge = 0.2;

// Inputs that are asked about together, and what each has of their time: one question finds how
// much of the step hangs on all of them.
struct Asked {
  std::vector<StepInput> inputs;
  std::vector<double> weights;  // add up to 1
  double change = nudge;
};

// Kernel seconds of products and convolutions, which share a kind, go to the one that a model has
// more of.
Asked compute_question(const StepQuestion& question, const StepTotals& totals) {
  const auto seconds = [&](WorkKind kind) {
    return totals.kernel_seconds[static_cast<std::size_t>(kind)];
  };
  const StepInput products =
      question.uses(StepInput::convolutions) ? StepInput::convolutions : StepInput::products;
  Asked out{
      {products, StepInput::attention, StepInput::memory},
      {seconds(WorkKind::gemm),
       seconds(WorkKind::attention),
       seconds(WorkKind::memory) + seconds(WorkKind::optimizer) + seconds(WorkKind::sync_copy)}};
  double all = 0;
  for (const double w : out.weights) all += w;
  for (double& w : out.weights) w = all > 0 ? w / all : 0;
  return out;
}

// What could change the step. A host far ahead of the GPU cannot.
std::vector<Asked> questions(const StepQuestion& question, const StepTime& now) {
  std::vector<Asked> out{compute_question(question, now.totals)};
  const double latest_host = now.totals.host_seconds *
                             std::exp(2 * untaught_sd[static_cast<std::size_t>(ErrorTerm::host)]);
  if (latest_host > 0.5 * now.step.value) out.push_back({{StepInput::host}, {1}});
  for (const StepInput input : {StepInput::link_latency, StepInput::link_bandwidth}) {
    if (question.uses(input)) out.push_back({{input}, {1}, link_nudge});
  }
  for (const StepInput input :
       {StepInput::overlap, StepInput::copies, StepInput::power, StepInput::host_memory}) {
    if (question.uses(input)) out.push_back({{input}, {1}});
  }
  return out;
}

// Percent of the step for one percent of each input's time.
InputChanges elasticities(const StepQuestion& question, const StepTime& now) {
  InputChanges out{};
  for (const Asked& asked : questions(question, now)) {
    InputChanges changes{};
    for (const StepInput input : asked.inputs) changes[index(input)] = asked.change;
    const double all = std::log(question.step(changes).step / now.step) / asked.change;
    for (std::size_t i = 0; i < asked.inputs.size(); ++i) {
      out[index(asked.inputs[i])] = std::max(all, 0.0) * asked.weights[i];
    }
  }
  return out;
}

// The term that holds how far the input is off, if any.
ErrorTerm term_of(StepInput input, InputOrigin origin) {
  const bool by_class = origin != InputOrigin::measured;
  switch (input) {
    case StepInput::host:
      return ErrorTerm::host;
    case StepInput::link_latency:
    case StepInput::link_bandwidth:
      return by_class ? ErrorTerm::class_link : ErrorTerm::measured_link;
    case StepInput::products:
    case StepInput::attention:
    case StepInput::convolutions:
      return by_class ? ErrorTerm::class_compute : ErrorTerm::any;
    case StepInput::memory:
      return by_class ? ErrorTerm::class_memory : ErrorTerm::any;
    case StepInput::power:
      return by_class ? ErrorTerm::class_power : ErrorTerm::any;
    default:
      return ErrorTerm::any;
  }
}

// A measured link's own fit error counts beside its term.
bool counted_by_term(ErrorTerm term) {
  return term != ErrorTerm::any && term != ErrorTerm::measured_link;
}

ErrorShares error_shares(const StepQuestion& question,
                         const InputChanges& elasticities,
                         const StepTime& now) {
  ErrorShares out{};
  for (std::size_t i = 0; i < step_input_count; ++i) {
    at(out, term_of(static_cast<StepInput>(i), question.spreads[i].origin)) += elasticities[i];
  }
  at(out, ErrorTerm::any) = 1;
  at(out, ErrorTerm::bubble) = question.bubble;
  double kernels = 0;
  for (const double seconds : now.totals.kernel_seconds) kernels += seconds;
  const double unmeasured = kernels > 0 ? now.totals.unmeasured_seconds / kernels : 0;
  // Class values are near no measured point either, but have terms of their own.
  at(out, ErrorTerm::unmeasured) =
      std::max(0.0,
               unmeasured - at(out, ErrorTerm::class_compute) - at(out, ErrorTerm::class_memory) -
                   at(out, ErrorTerm::class_link));
  return out;
}

// What measuring the input would take away of the variance: its own, and the terms that are there
// because nobody measured it on that machine.
std::vector<Contribution> contributions(const Uncertainty& u,
                                        const StepQuestion& question,
                                        const ModelError& error) {
  const InputSpreads& spreads = question.spreads;
  std::vector<Contribution> out;
  const double total = u.log_sd * u.log_sd;
  double of_model = error_variance(error, u.shares);
  for (std::size_t i = 0; i < step_input_count; ++i) {
    const auto input = static_cast<StepInput>(i);
    const ErrorTerm term = term_of(input, spreads[i].origin);
    double variance = u.effects[i] * u.effects[i];
    const double share = u.shares[static_cast<std::size_t>(term)];
    if (term != ErrorTerm::any && share > 0) {
      // Where inputs share a term each has its part of it.
      const double of_term = error.sd[static_cast<std::size_t>(term)] * share;
      const double part = of_term * of_term * u.elasticities[i] / share;
      variance += part;
      of_model -= part;
    }
    if (variance <= 0) continue;
    out.push_back({std::string(step_input_names[i]),
                   std::sqrt(variance),
                   variance / total,
                   spreads[i].origin,
                   measuring_command(input, question.cluster)});
  }
  if (of_model > 1e-9 * total) {
    out.push_back(
        {"the model itself", std::sqrt(of_model), of_model / total, InputOrigin::measured, ""});
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
    if (spreads[i].origin != InputOrigin::class_value) continue;
    if (u.elasticities[i] > matters) add(step_input_names[i]);
  }
  if (at(u.shares, ErrorTerm::unmeasured) > much_unmeasured && u.inside_calibration) {
    add("shapes far from every measured one");
  }
}

// Both what its own measurement leaves open and what its term says of it.
InputChanges input_log_sd(const InputSpreads& spreads,
                          const ErrorShares& shares,
                          const ModelError& error) {
  const auto sd = [&](ErrorTerm term) { return error.sd[static_cast<std::size_t>(term)]; };
  const double unmeasured =
      shares[static_cast<std::size_t>(ErrorTerm::unmeasured)] * sd(ErrorTerm::unmeasured);
  InputChanges out{};
  for (std::size_t i = 0; i < step_input_count; ++i) {
    const auto input = static_cast<StepInput>(i);
    const ErrorTerm term = term_of(input, spreads[i].origin);
    const double own = counted_by_term(term) ? 0 : spreads[i].log_sd;
    out[i] = std::hypot(own, term == ErrorTerm::any ? 0 : sd(term));
    if (input <= StepInput::memory) out[i] = std::hypot(out[i], unmeasured);
  }
  return out;
}

}  // namespace

StepQuestion step_question(const Scenario& scenario, const GpuProfile& gpu) {
  const auto step = std::make_shared<PerturbedStep>(scenario, gpu);
  return {[step](const InputChanges& changes) { return step->step(changes); },
          [step](const InputChanges& changes) { return step->exposed(changes); },
          [step](StepInput input) { return step->uses(input); },
          input_spreads(gpu, scenario, step->links()),
          bubble_share(scenario),
          scenario.cluster};
}

Uncertainty uncertainty_of(const StepQuestion& question, Seconds step, const ModelError& error) {
  const InputSpreads& spreads = question.spreads;
  const StepTime now = question.step({});
  Uncertainty out;
  out.elasticities = elasticities(question, now);
  double variance = 0;
  for (std::size_t i = 0; i < step_input_count; ++i) {
    if (counted_by_term(term_of(static_cast<StepInput>(i), spreads[i].origin))) continue;
    out.effects[i] = out.elasticities[i] * spreads[i].log_sd;
    variance += out.effects[i] * out.effects[i];
  }
  out.parameter_log_sd = std::sqrt(variance);
  out.shares = error_shares(question, out.elasticities, now);
  for (std::size_t i = 0; i < out.shares.size(); ++i)
    out.term_log_sd[i] = error.sd[i] * out.shares[i];
  out.ratio_log_sd = error.ratio_sd;
  out.input_log_sd = input_log_sd(spreads, out.shares, error);
  out.log_sd = std::sqrt(variance + error_variance(error, out.shares));
  out.step = interval_of(step.value, out.log_sd, error.low, error.high);
  out.contributions = contributions(out, question, error);
  tell_what_is_outside(out, spreads);
  return out;
}

Uncertainty uncertainty_of(const Scenario& scenario,
                           const GpuProfile& gpu,
                           Seconds step,
                           const ModelError& error) {
  return uncertainty_of(step_question(scenario, gpu), step, error);
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
