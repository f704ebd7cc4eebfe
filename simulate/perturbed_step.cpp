#include "simulate/perturbed_step.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "simulate/host_memory.h"

namespace stepsight {

namespace {

// What time_step() reads. Products, attention and convolutions are priced before.
GpuProfile what_pricing_reads(const GpuProfile& gpu) {
  GpuProfile out;
  out.multiprocessors = gpu.multiprocessors;
  out.memory_bytes = gpu.memory_bytes;
  out.l2_bytes = gpu.l2_bytes;
  out.hbm_TBps = gpu.hbm_TBps;
  out.pcie_GBps = gpu.pcie_GBps;
  out.power_W = gpu.power_W;
  out.vendor_TFLOPS = gpu.vendor_TFLOPS;
  out.gemm = gpu.gemm;
  out.attention = gpu.attention;
  out.convolution = gpu.convolution;
  out.pass = gpu.pass;
  out.pass_points = gpu.pass_points;
  out.host = gpu.host;
  out.launch = gpu.launch;
  out.host_to_device = gpu.host_to_device;
  out.device_to_host = gpu.device_to_host;
  out.overlap = gpu.overlap;
  out.power = gpu.power;
  return out;
}

StepInput input_of(const Work& work) {
  if (std::holds_alternative<Gemm>(work)) return StepInput::products;
  if (std::holds_alternative<Attention>(work)) return StepInput::attention;
  if (std::holds_alternative<Convolution>(work)) return StepInput::convolutions;
  return StepInput::memory;
}

using Factors = std::array<double, step_input_count>;

void scale(std::vector<Cost>& costs, const std::vector<Operator>& operators, const Factors& f) {
  for (std::size_t i = 0; i < costs.size(); ++i) {
    costs[i].time = costs[i].time * f[index(input_of(operators[i].work))];
  }
}
void scale(std::vector<Cost>& passes, double factor) {
  for (Cost& c : passes) c.time = c.time * factor;
}
void scale(StageCosts& costs, const StageWork& work, const Factors& f) {
  scale(costs.forward, work.forward, f);
  scale(costs.backward, work.backward, f);
  scale(costs.accumulate, f[index(StepInput::memory)]);
  scale(costs.copy, f[index(StepInput::memory)]);
}

template <typename Parameters>
void scale_all(Parameters& p, double factor) {
  for (const auto& field : Parameters::fields()) p.*field.member *= factor;
}

void scale(GpuProfile& gpu, const Factors& f) {
  const double memory = f[index(StepInput::memory)];
  for (PassParameters<double>& p : gpu.pass) {
    p.overhead_us *= memory;
    p.row_ns *= memory;
    p.element_ps *= memory;
    p.bandwidth_TBps /= memory;
  }
  scale_all(gpu.host, f[index(StepInput::host)]);
  for (CopyParameters<double>* copy : {&gpu.host_to_device, &gpu.device_to_host}) {
    copy->latency_us *= f[index(StepInput::copies)];
    copy->bandwidth_GBps /= f[index(StepInput::copies)];
  }
  for (const auto& field : OverlapParameters<double>::fields()) {
    double& rate = gpu.overlap.*field.member;
    rate = std::clamp(rate / f[index(StepInput::overlap)], field.info.lower, field.info.upper);
  }
  const double energy = f[index(StepInput::power)];
  gpu.power.static_W *= energy;
  gpu.power.flop_pJ *= energy;
  gpu.power.byte_pJ *= energy;
}

// Scales a profile's parameters for as long as it lives; the points over them stay where they are.
class Scaled {
 public:
  Scaled(GpuProfile& gpu, const Factors& f)
      : gpu_(gpu),
        pass_(gpu.pass),
        host_(gpu.host),
        up_(gpu.host_to_device),
        down_(gpu.device_to_host),
        overlap_(gpu.overlap),
        power_(gpu.power) {
    scale(gpu, f);
  }
  Scaled(const Scaled&) = delete;
  Scaled& operator=(const Scaled&) = delete;
  ~Scaled() {
    gpu_.pass = pass_;
    gpu_.host = host_;
    gpu_.host_to_device = up_;
    gpu_.device_to_host = down_;
    gpu_.overlap = overlap_;
    gpu_.power = power_;
  }

 private:
  GpuProfile& gpu_;
  decltype(GpuProfile::pass) pass_;
  HostParameters<double> host_;
  CopyParameters<double> up_, down_;
  OverlapParameters<double> overlap_;
  PowerParameters<double> power_;
};

void scale(Link& link, const Factors& f) {
  if (link.kind != Link::Kind::collective) return;
  CollectiveCurve curve = *link.curve;
  curve.parameters.latency_us *= f[index(StepInput::link_latency)];
  curve.parameters.ramp_us *= f[index(StepInput::link_latency)];
  curve.parameters.busbw_GBps /= f[index(StepInput::link_bandwidth)];
  link.curve = std::make_shared<CollectiveCurve>(std::move(curve));
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
    case StepInput::attention: return attends_;
    case StepInput::convolutions: return convolves_;
    case StepInput::link_latency:
    case StepInput::link_bandwidth: return collective_;
    case StepInput::overlap:
      return collective_ || loopback_ || scenario_.parallel.offload != Offload::none;
    case StepInput::copies:
      return loopback_ || scenario_.parallel.offload != Offload::none;
    case StepInput::host_memory: return updates_on_host(scenario_.parallel.offload);
    case StepInput::power: return gpu_.power_W > 0;
    default: return true;
  }
}

StepTime PerturbedStep::step(const InputChanges& changes) {
  Factors f;
  std::ranges::transform(changes, f.begin(), [](double change) { return std::exp(change); });
  StepCosts costs = costs_;
  scale(costs.embedding, work_.embedding, f);
  scale(costs.block, work_.block, f);
  scale(costs.kept_block, work_.kept_block, f);
  scale(costs.head, work_.head, f);
  scale(costs.optimizer, work_.optimizer, f);
  const Scaled scaled(gpu_, f);
  StepLinks links = links_;
  if (changes[index(StepInput::link_latency)] != 0 ||
      changes[index(StepInput::link_bandwidth)] != 0) {
    each_link(links, [&](Link& link) { scale(link, f); });
  }
  if (changes[index(StepInput::host_memory)] == 0) {
    return step_time({work_, costs, scenario_, gpu_, links});
  }
  Scenario scenario = scenario_;
  scenario.cluster.host_memory_GBps =
      host_memory_GBps(gpu_, scenario_.cluster) / f[index(StepInput::host_memory)];
  return step_time({work_, costs, scenario, gpu_, links});
}

}  // namespace stepsight
