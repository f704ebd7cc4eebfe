#include "simulate/perturbed_step.h"

#include <variant>

#include "simulate/changed_inputs.h"
#include "simulate/host_memory.h"

namespace stepsight {

namespace {

StepInput input_of(const Work& work) {
  if (std::holds_alternative<Gemm>(work)) return StepInput::products;
  if (std::holds_alternative<Attention>(work)) return StepInput::attention;
  if (std::holds_alternative<Convolution>(work)) return StepInput::convolutions;
  return StepInput::memory;
}

void scale(std::vector<Cost>& costs,
           const std::vector<Operator>& operators,
           const InputFactors& f) {
  for (std::size_t i = 0; i < costs.size(); ++i) {
    costs[i].time = costs[i].time * f[index(input_of(operators[i].work))];
  }
}
void scale(std::vector<Cost>& passes, double factor) {
  for (Cost& c : passes) c.time = c.time * factor;
}
void scale(StageCosts& costs, const StageWork& work, const InputFactors& f) {
  scale(costs.forward, work.forward, f);
  scale(costs.backward, work.backward, f);
  scale(costs.accumulate, f[index(StepInput::memory)]);
  scale(costs.copy, f[index(StepInput::memory)]);
}

template <typename Visitor>
void each_link(StepLinks& links, const Visitor& visit) {
  for (auto& kinds : links.groups) {
    for (Link& link : kinds) visit(link);
  }
  for (Link* link : {&links.gradients, &links.neighbours, &links.ends}) visit(*link);
}

}  // namespace

PerturbedStep::PerturbedStep(const Scenario& scenario, const GpuProfile& gpu)
    : scenario_(scenario),
      gpu_(what_pricing_reads(gpu)),
      work_(step_work(scenario)),
      costs_(cost_step(work_, scenario.training.precision, gpu)),
      links_(resolve_links(gpu, scenario, work_)) {
  each_link(links_, [&](const Link& link) {
    loopback_ = loopback_ || link.kind == Link::Kind::loopback;
    collective_ = collective_ || link.kind == Link::Kind::collective;
  });
  for (const StageWork* stage : {&work_.embedding, &work_.block, &work_.kept_block, &work_.head}) {
    for (const Operator& op : stage->forward) {
      convolves_ = convolves_ || std::holds_alternative<Convolution>(op.work);
      attends_ = attends_ || std::holds_alternative<Attention>(op.work);
    }
  }
}

bool PerturbedStep::uses(StepInput input) const {
  switch (input) {
    case StepInput::attention:
      return attends_;
    case StepInput::convolutions:
      return convolves_;
    case StepInput::link_latency:
    case StepInput::link_bandwidth:
      return collective_;
    case StepInput::overlap:
      return collective_ || loopback_ || scenario_.parallel.offload != Offload::none;
    case StepInput::copies:
      return loopback_ || scenario_.parallel.offload != Offload::none;
    case StepInput::host_memory:
      return updates_on_host(scenario_.parallel.offload);
    case StepInput::power:
      return gpu_.power_W > 0;
    default:
      return true;
  }
}

template <typename Ask>
auto PerturbedStep::with(const InputChanges& changes, const Ask& ask) {
  const InputFactors f = factors_of(changes);
  StepCosts costs = costs_;
  scale(costs.embedding, work_.embedding, f);
  scale(costs.block, work_.block, f);
  scale(costs.kept_block, work_.kept_block, f);
  scale(costs.head, work_.head, f);
  scale(costs.optimizer, work_.optimizer, f);
  const ChangedProfile changed(gpu_, f);
  StepLinks links = links_;
  if (changes[index(StepInput::link_latency)] != 0 ||
      changes[index(StepInput::link_bandwidth)] != 0) {
    each_link(links, [&](Link& link) { scale(link, f); });
  }
  if (changes[index(StepInput::host_memory)] == 0) {
    return ask(StepParts{work_, costs, scenario_, gpu_, links});
  }
  Scenario scenario = scenario_;
  scenario.cluster.host_memory_GBps =
      host_memory_GBps(gpu_, scenario_.cluster) / f[index(StepInput::host_memory)];
  return ask(StepParts{work_, costs, scenario, gpu_, links});
}

StepTime PerturbedStep::step(const InputChanges& changes) {
  return with(changes, step_time);
}

double PerturbedStep::exposed(const InputChanges& changes) {
  return with(changes, exposed_time);
}

}  // namespace stepsight
