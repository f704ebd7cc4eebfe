#include "model/class_profile.h"

#include <algorithm>
#include <string>

namespace stepsight {

namespace {

double rate(const GpuProfile& gpu, Dtype type) {
  return gpu.vendor_TFLOPS[static_cast<std::size_t>(type)];
}

// The rate at which a card computes in a format: offered, or emulated in fp32.
double rate_or_fp32(const GpuProfile& gpu, Dtype type) {
  const double own = rate(gpu, type);
  return own > 0 ? own : rate(gpu, Dtype::fp32);
}

double ratio(double own, double reference) {
  return own > 0 && reference > 0 ? own / reference : 1;
}

// Attention runs in whichever 16-bit format the card's tensor cores know.
double narrow_rate(const GpuProfile& gpu) {
  const double bf16 = rate(gpu, Dtype::bf16);
  return bf16 > 0 ? bf16 : rate_or_fp32(gpu, Dtype::fp16);
}

void scale_products(GpuProfile& out, const GpuProfile& reference) {
  const double memory = ratio(out.hbm_TBps, reference.hbm_TBps);
  for (const DtypeInfo& type : dtypes) {
    GemmParameters<double>& p = out.gemm[static_cast<std::size_t>(type.dtype)];
    p = reference.gemm[static_cast<std::size_t>(type.dtype)];
    p.peak_TFLOPS *= ratio(rate_or_fp32(out, type.dtype), rate_or_fp32(reference, type.dtype));
    p.bandwidth_TBps *= memory;
  }
  for (std::size_t side = 0; side < out.convolution.size(); ++side) {
    out.convolution[side] = reference.convolution[side];
    out.convolution[side].bandwidth_TBps *= memory;
  }
  const double tensor = ratio(narrow_rate(out), narrow_rate(reference));
  const double share = ratio(out.multiprocessors, reference.multiprocessors);
  for (std::size_t side = 0; side < 2; ++side) {
    out.attention[side] = reference.attention[side];
    out.attention[side].peak_TFLOPS *= tensor;
    out.attention[side].tile_latency_us *= share / tensor;
  }
}

// The clock that the fp32 rate implies with 128 lanes of 2 FLOP a multiprocessor.
double clock_with_128_lanes(const GpuProfile& gpu) {
  return rate(gpu, Dtype::fp32) * 1e12 / (256.0 * std::max(gpu.multiprocessors, 1));
}

// Volta, Turing and A100 have 64 lanes a multiprocessor: with 128 their clock would come out below
// 1 GHz, and no card's boost clock is that low.
bool has_64_lanes(const GpuProfile& gpu) {
  return clock_with_128_lanes(gpu) < 1e9;
}

// Instructions a second, up to a factor: multiprocessors times clock. Either kind of multiprocessor
// issues four warps' instructions a cycle.
double issue_rate(const GpuProfile& gpu) {
  return gpu.multiprocessors * clock_with_128_lanes(gpu) * (has_64_lanes(gpu) ? 2 : 1);
}

void scale_passes(GpuProfile& out, const GpuProfile& reference) {
  const double memory = ratio(out.hbm_TBps, reference.hbm_TBps);
  const double instructions = ratio(issue_rate(out), issue_rate(reference));
  for (const PassInfo& row : passes) {
    PassParameters<double>& p = out.pass[static_cast<std::size_t>(row.kind)];
    p = reference.pass[static_cast<std::size_t>(row.kind)];
    p.bandwidth_TBps *= memory;
    p.row_ns /= instructions;
    p.element_ps /= instructions;
  }
}

// The rate at which the chip's tensor cores compute at all. GeForce cards halve it for sums in
// fp32; their power is built for the whole: 4 FLOP for one of fp32 with 128 lanes a multiprocessor,
// 8 with 64.
double built_rate(const GpuProfile& gpu) {
  if (rate(gpu, Dtype::fp16) <= 0 && rate(gpu, Dtype::bf16) <= 0) return narrow_rate(gpu);
  return std::max(narrow_rate(gpu), (has_64_lanes(gpu) ? 8 : 4) * rate(gpu, Dtype::fp32));
}

// As many multiprocessors at the same rates: the same silicon, perhaps under another limit (H100 of
// 500 W, A100 PCIe of 300 W) or beside other memory.
bool same_chip(const GpuProfile& gpu, const GpuProfile& reference) {
  return gpu.multiprocessors == reference.multiprocessors &&
         narrow_rate(gpu) == narrow_rate(reference) &&
         rate(gpu, Dtype::fp32) == rate(reference, Dtype::fp32);
}

// A card is built so that its products just about reach its power limit. A lower limit does not
// make the same chip draw less for the same work.
void scale_power(GpuProfile& out, const GpuProfile& reference) {
  const double watts = same_chip(out, reference) ? 1 : ratio(out.power_W, reference.power_W);
  out.power = reference.power;
  out.power.static_W *= watts;
  out.power.flop_pJ *= watts / ratio(built_rate(out), built_rate(reference));
  out.power.byte_pJ *= watts / ratio(out.hbm_TBps, reference.hbm_TBps);
}

}  // namespace

GpuProfile class_profile(const GpuProfile& figures, const GpuProfile& reference) {
  GpuProfile out = figures;
  scale_products(out, reference);
  scale_passes(out, reference);
  scale_power(out, reference);
  out.host = reference.host;
  out.launch = reference.launch;
  out.overlap = reference.overlap;
  out.host_to_device = reference.host_to_device;
  out.device_to_host = reference.device_to_host;
  const double pcie = ratio(out.pcie_GBps, reference.pcie_GBps);
  out.host_to_device.bandwidth_GBps *= pcie;
  out.device_to_host.bandwidth_GBps *= pcie;
  const std::string source =
      "class value: utilisation of the vendor's figures as " + reference.name;
  for (const NamedParameter& p : named_parameters(out)) {
    // A parameter that the reference did not determine may stand at its bound already.
    *p.value = std::clamp(*p.value, p.info.lower, p.info.upper);
    out.records.push_back({p.name, *p.value, class_value_spread * *p.value, 0, source});
  }
  out.sources = {source};
  return out;
}

}  // namespace stepsight
