#include "simulate/changed_inputs.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace stepsight {

InputFactors factors_of(const InputChanges& changes) {
  InputFactors out{};
  std::ranges::transform(changes, out.begin(), [](double change) { return std::exp(change); });
  return out;
}

void scale_compute(GpuProfile& gpu, const InputFactors& f) {
  const double products = f[index(StepInput::products)];
  for (GemmParameters<double>& p : gpu.gemm) {
    p.overhead_us *= products;
    p.peak_TFLOPS /= products;
    p.bandwidth_TBps /= products;
  }
  const double attention = f[index(StepInput::attention)];
  for (AttentionParameters<double>& p : gpu.attention) {
    p.overhead_us *= attention;
    p.tile_latency_us *= attention;
    p.peak_TFLOPS /= attention;
  }
  const double convolutions = f[index(StepInput::convolutions)];
  for (ConvolutionParameters<double>& p : gpu.convolution) {
    p.slowdown *= convolutions / products;
    p.overhead_us *= convolutions;
    p.bandwidth_TBps /= convolutions;
  }
}

void scale_others(GpuProfile& gpu, const InputFactors& f) {
  const double memory = f[index(StepInput::memory)];
  for (PassParameters<double>& p : gpu.pass) {
    p.overhead_us *= memory;
    p.row_ns *= memory;
    p.element_ps *= memory;
    p.bandwidth_TBps /= memory;
  }
  for (const auto& field : HostParameters<double>::fields()) {
    gpu.host.*field.member *= f[index(StepInput::host)];
  }
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

void scale(CollectiveParameters<double>& link, const InputFactors& f) {
  link.latency_us *= f[index(StepInput::link_latency)];
  link.ramp_us *= f[index(StepInput::link_latency)];
  link.busbw_GBps /= f[index(StepInput::link_bandwidth)];
}

void scale(Link& link, const InputFactors& f) {
  if (link.kind != Link::Kind::collective) return;
  CollectiveCurve curve = *link.curve;
  scale(curve.parameters, f);
  link.curve = std::make_shared<CollectiveCurve>(std::move(curve));
}

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

ChangedProfile::ChangedProfile(GpuProfile& gpu, const InputFactors& f)
    : gpu_(gpu),
      pass_(gpu.pass),
      host_(gpu.host),
      up_(gpu.host_to_device),
      down_(gpu.device_to_host),
      overlap_(gpu.overlap),
      power_(gpu.power) {
  scale_others(gpu, f);
}

ChangedProfile::~ChangedProfile() {
  gpu_.pass = pass_;
  gpu_.host = host_;
  gpu_.host_to_device = up_;
  gpu_.device_to_host = down_;
  gpu_.overlap = overlap_;
  gpu_.power = power_;
}

}  // namespace stepsight
