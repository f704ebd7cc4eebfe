#include "simulate/perturbed_trace.h"

#include <algorithm>

#include "simulate/changed_inputs.h"
#include "simulate/irregular_step.h"
#include "simulate/predict.h"
#include "simulate/traced_program.h"

namespace stepsight {

namespace {

StepInput input_of(const TracedKernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::product:
      return StepInput::products;
    case KernelKind::attention:
      return StepInput::attention;
    default:
      return StepInput::memory;
  }
}

bool has_kind(const TracedStep& step, KernelKind kind) {
  return std::ranges::any_of(step.kernels, [&](const TracedKernel& k) { return k.kind == kind; });
}

Prediction steady(const StepProgram& program) {
  Prediction out;
  read_timeline(program, run(program.program, program.machine), out);
  return out;
}

}  // namespace

StepTime traced_step_time(const TracedParts& parts) {
  StepProgram program = build_traced_step(parts);
  const Seconds step = steady(program).step;
  return {with_waits(parts.scenario, step), std::move(program)};
}

double traced_exposed_time(const TracedParts& parts) {
  return steady(build_traced_step(parts)).exposed_s;
}

PerturbedTrace::PerturbedTrace(const TracedStep& step,
                               const TracedCosts& costs,
                               const Scenario& scenario,
                               const GpuProfile& gpu)
    : step_(step),
      costs_(costs),
      scenario_(scenario),
      gpu_(what_pricing_reads(gpu)),
      links_(resolve_traced_links(gpu, scenario)) {}

bool PerturbedTrace::uses(StepInput input) const {
  const auto any = [&](Link::Kind kind) {
    return links_.gradients.kind == kind || links_.gather.kind == kind ||
           links_.scatter.kind == kind;
  };
  switch (input) {
    case StepInput::products:
      return has_kind(step_, KernelKind::product);
    case StepInput::attention:
      return has_kind(step_, KernelKind::attention);
    case StepInput::convolutions:
      return false;  // their kernels count as products
    case StepInput::link_latency:
    case StepInput::link_bandwidth:
      return any(Link::Kind::collective);
    case StepInput::overlap:
      return any(Link::Kind::collective) || any(Link::Kind::loopback);
    case StepInput::copies:
      return any(Link::Kind::loopback);
    case StepInput::power:
      return false;  // the clock was what it was in the trace
    default:
      return true;
  }
}

template <typename Ask>
auto PerturbedTrace::with(const InputChanges& changes, const Ask& ask) {
  const InputFactors f = factors_of(changes);
  TracedCosts costs = costs_;
  for (std::size_t i = 0; i < costs.kernel_seconds.size(); ++i) {
    costs.kernel_seconds[i] *= f[index(input_of(step_.kernels[i]))];
  }
  for (double& scale : costs.issue_scale) scale *= f[index(StepInput::host)];
  const ChangedProfile changed(gpu_, f);
  TracedLinks links = links_;
  for (Link* link : {&links.gradients, &links.gather, &links.scatter}) scale(*link, f);
  return ask(TracedParts{step_, costs, scenario_, gpu_, links});
}

StepTime PerturbedTrace::step(const InputChanges& changes) {
  return with(changes, traced_step_time);
}

double PerturbedTrace::exposed(const InputChanges& changes) {
  return with(changes, traced_exposed_time);
}

}  // namespace stepsight
