#include "model/fit/fit_profile.h"

#include <algorithm>

#include "model/errors.h"
#include "model/fit/fit_group.h"
#include "model/fit/fit_state.h"

namespace stepsight {

namespace {

// What stands in for what was not measured, and the vendor's figures of the card.
FitState begun(const GpuProfile& gpu, const Measurements& m, const FitOptions& options) {
  FitState f{m, options, {}, "class value", {}};
  if (options.reference) {
    f.class_values = class_profile(gpu, *options.reference);
    f.class_source = f.class_values.sources.front();
  } else {
    GpuProfile& c = f.class_values;
    c.attention.fill(class_values<AttentionParameters>());
    c.convolution.fill(class_values<ConvolutionParameters>());
    c.host = class_values<HostParameters>();
    c.host_to_device = c.device_to_host = class_values<CopyParameters>();
    c.overlap = class_values<OverlapParameters>();
    c.power = class_values<PowerParameters>();
    c.launch = class_values<LaunchParameters>();
  }
  GpuProfile& p = f.out.profile;
  p.name = gpu.name;
  p.title = gpu.title;
  p.multiprocessors = gpu.multiprocessors;
  p.memory_bytes = gpu.memory_bytes;
  p.l2_bytes = gpu.l2_bytes;
  p.hbm_TBps = gpu.hbm_TBps;
  p.power_W = gpu.power_W;
  p.pcie_GBps = gpu.pcie_GBps;
  p.driver_name = gpu.driver_name;
  p.vendor_TFLOPS = gpu.vendor_TFLOPS;
  p.sources = m.sources;
  return f;
}

}  // namespace

double percentile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  const auto rank =
      static_cast<std::ptrdiff_t>(fraction * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<std::size_t>(rank)];
}

double median(std::vector<double> values) {
  return percentile(std::move(values), 0.5);
}

bool held_out(const std::array<std::int64_t, 6>& shape) {
  // FNV-1a over the first three sizes, so that layouts, masks and types of a shape go together.
  std::uint64_t hash = 14695981039346656037ULL;
  for (std::size_t i = 0; i < 3; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(shape[i])) * 1099511628211ULL;
    hash ^= hash >> 29;
  }
  return hash % 5 == 0;
}

FittedProfile fit_profile(const GpuProfile& gpu,
                          const Measurements& measurements,
                          const FitOptions& options) {
  const Measurements& m = measurements;
  if (m.gemms.empty() && m.attentions.empty() && m.passes.empty() && m.copies.empty() &&
      m.convolutions.empty() && m.collectives.empty() && m.hosts.empty()) {
    throw UserError("the measurement files hold no point to fit");
  }
  FitState f = begun(gpu, m, options);
  fit_gemms(f);
  fit_attention(f, false);
  fit_attention(f, true);
  fit_convolutions(f, ConvolutionDirection::forward);
  fit_convolutions(f, ConvolutionDirection::dgrad);
  fit_convolutions(f, ConvolutionDirection::wgrad);
  fit_passes(f);
  fit_host(f);
  fit_copies(f, true);
  fit_copies(f, false);
  fit_launch(f);
  fit_overlap(f);
  fit_power(f);
  fit_collectives(f);
  return std::move(f.out);
}

}  // namespace stepsight
