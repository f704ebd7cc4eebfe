#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "model/class_profile.h"
#include "simulate/exposed_interval.h"
#include "simulate/perturbed_trace.h"
#include "simulate/traced_prediction.h"

namespace stepsight {

namespace {

constexpr std::array compute{StepInput::products, StepInput::attention, StepInput::memory};

// Of a kernel that runs on the card on which it was timed: two cards of one kind, two days.
constexpr double traced_spread = 0.01;

// The format of the products that take most time: whose fit says how sure a card's products are.
Dtype product_format(const TracedStep& step) {
  std::array<double, dtypes.size()> seconds{};
  for (const TracedKernel& k : step.kernels) {
    if (k.kind == KernelKind::product) seconds[static_cast<std::size_t>(k.dtype)] += k.seconds;
  }
  const auto most = std::ranges::max_element(seconds);
  return static_cast<Dtype>(most - seconds.begin());
}

// One answer that can be asked again: everything that PerturbedTrace refers to stays with it.
struct Asked {
  TracedCosts costs;
  Scenario scenario;
  std::unique_ptr<PerturbedTrace> trace;
};

class Questions {
 public:
  Questions(const TracedStep& step, const GpuProfile& gpu, const GpuProfile* traced_on)
      : step_(step), gpu_(gpu), traced_on_(traced_on) {}

  [[nodiscard]] StepQuestion about(Scenario scenario) const {
    scenario.training.precision.compute = product_format(step_);
    const auto asked = std::make_shared<Asked>(
        Asked{cost_traced_step(step_, gpu_, traced_on_), std::move(scenario), nullptr});
    asked->trace = std::make_unique<PerturbedTrace>(step_, asked->costs, asked->scenario, gpu_);
    return {[asked](const InputChanges& changes) { return asked->trace->step(changes); },
            [asked](const InputChanges& changes) { return asked->trace->exposed(changes); },
            [asked](StepInput input) { return asked->trace->uses(input); },
            spreads(*asked),
            0,
            asked->scenario.cluster};
  }

 private:
  [[nodiscard]] InputSpreads spreads(const Asked& asked) const {
    StepLinks links;
    links.gradients = asked.trace->links().gradients;
    links.groups.front()[0] = asked.trace->links().gather;
    links.groups.front()[1] = asked.trace->links().scatter;
    InputSpreads out = input_spreads(gpu_, asked.scenario, links);
    if (traced_on_ == nullptr) {
      for (const StepInput input : compute)
        out[index(input)] = {traced_spread, InputOrigin::measured};
      return out;
    }
    const InputSpreads from = input_spreads(*traced_on_, asked.scenario, {});
    for (const StepInput input : compute) {
      InputSpread& here = out[index(input)];
      const InputSpread& there = from[index(input)];
      const double by_operator = std::hypot(here.log_sd, there.log_sd);
      // What only a rate carried over is off alike at every kernel.
      here.log_sd = std::hypot(by_operator, asked.costs.by_rate * class_value_spread);
      if (there.origin == InputOrigin::class_value) here.origin = there.origin;
    }
    return out;
  }

  const TracedStep& step_;
  const GpuProfile& gpu_;
  const GpuProfile* traced_on_;
};

}  // namespace

Waterfall traced_waterfall(const TracedStep& step,
                           const Scenario& scenario,
                           const GpuProfile& gpu,
                           const GpuProfile* traced_on,
                           const Prediction& prediction) {
  Scenario regular = scenario;
  regular.irregular = {};
  return waterfall_of(prediction, Questions(step, gpu, traced_on).about(std::move(regular)));
}

std::vector<Lever> traced_levers(const TracedStep& step,
                                 const Scenario& scenario,
                                 const GpuProfile& gpu,
                                 const GpuProfile* traced_on,
                                 const Prediction& now,
                                 const ModelError& error) {
  const bool narrow = product_format(step) == Dtype::bf16;
  const LeverScope scope{false, narrow && step.gradient_dtype == Dtype::fp32};
  const Questions ask(step, gpu, traced_on);
  const LeverModel model{
      [&](const Scenario& s) {
        return LeverAnswer{predict_traced(step, s, gpu, traced_on).point.prediction.step};
      },
      [&](const Scenario& s, Seconds seconds) {
        return uncertainty_of(ask.about(s), seconds, error);
      }};
  return levers(scenario, now, scope, model, error);
}

TracedPoint study_traced(const TracedStep& step,
                         const Scenario& scenario,
                         const GpuProfile& gpu,
                         const GpuProfile* traced_on,
                         const ModelError& error) {
  TracedPoint out = predict_traced(step, scenario, gpu, traced_on);
  StudyPoint& p = out.point;
  const Questions ask(step, gpu, traced_on);
  p.uncertainty = uncertainty_of(ask.about(scenario), p.prediction.step, error);
  if (p.prediction.communication_s > 0) {
    Scenario regular = scenario;
    regular.irregular = {};
    p.exposed_s = exposed_interval(
        p.prediction.exposed_s, ask.about(std::move(regular)), p.uncertainty, error);
  }

  const Uncertainty one =
      uncertainty_of(ask.about(alone_of_trace(scenario)), p.weak.one_gpu, error);
  p.weak.one_gpu_s = one.step;
  p.weak.step_s = p.uncertainty.step;
  p.weak.speedup = ratio_interval(p.weak.scaling.speedup, one, p.uncertainty, error);
  p.weak.efficiency = scaled(p.weak.speedup, 1 / static_cast<double>(scenario.cluster.gpus));

  Scenario counted = scenario;
  counted.training.seq = counted.training.accumulation = 1;  // what it takes is counted in samples
  const Quantiles& range = p.uncertainty.step;
  p.money = money_of(counted, gpu, {p.prediction.step.value, range.p5, range.p95});
  return out;
}

}  // namespace stepsight
