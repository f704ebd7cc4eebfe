#include "simulate/traced_costs.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "model/cost.h"

namespace stepsight {

namespace {

// What bounds a kernel of unknown shape: how long it takes to start, and how fast it then is.
struct Rate {
  double start_s = 0;
  double rate = 0;  // in any unit that both cards share
};

Rate rate_of(const TracedKernel& k, const GpuProfile& gpu) {
  if (k.kind == KernelKind::product) {
    const auto& p = gpu.gemm[static_cast<std::size_t>(k.dtype)];
    return {p.overhead_us * 1e-6, p.peak_TFLOPS};
  }
  if (k.kind == KernelKind::attention) {
    const auto& p = gpu.attention[k.part == StepPart::backward ? 1 : 0];
    return {p.overhead_us * 1e-6, p.peak_TFLOPS};
  }
  if (k.kind == KernelKind::copy_to_host || k.kind == KernelKind::copy_from_host) {
    const auto& p = k.kind == KernelKind::copy_to_host ? gpu.device_to_host : gpu.host_to_device;
    return {p.latency_us * 1e-6, p.bandwidth_GBps};
  }
  const auto& p = gpu.pass[static_cast<std::size_t>(PassKind::copy)];
  return {p.overhead_us * 1e-6, p.bandwidth_TBps};
}

// An fp32 product may have run on tf32 cores; only its kernel's name says so. A pass of no rows is
// the update of all parameters, a row a tensor.
Work as_run(const TracedStep& step, const TracedKernel& k) {
  Work out = step.works[k.work];
  if (auto* pass = std::get_if<Pass>(&out); pass != nullptr && pass->rows == 0) {
    pass->rows = static_cast<std::int64_t>(step.gradients.size());
    pass->cols = std::max<std::int64_t>(1, parameter_count(step) / pass->rows);
    pass->dtype = step.gradient_dtype;
  }
  if (auto* gemm = std::get_if<Gemm>(&out)) {
    const bool tensor_cores = k.kind == KernelKind::product && k.dtype == Dtype::tf32;
    if (gemm->dtype == Dtype::fp32 && tensor_cores) gemm->dtype = Dtype::tf32;
  }
  return out;
}

class Carry {
 public:
  Carry(const GpuProfile& to, const GpuProfile& from, TracedCosts& out)
      : to_(to), from_(from), out_(out) {}

  double seconds(const TracedStep& step, const TracedKernel& k) {
    if (k.work != no_operator) return by_operator(as_run(step, k), k.seconds);
    const Rate from = rate_of(k, from_);
    const Rate to = rate_of(k, to_);
    out_.by_rate += k.seconds;
    return to.start_s + std::max(0.0, k.seconds - from.start_s) * from.rate / to.rate;
  }

 private:
  double by_operator(const Work& work, double seconds) {
    const Cost to = cost(work, to_);
    const Cost from = cost(work, from_);
    const double carried = seconds * (to.time / from.time);
    out_.by_operator += seconds;
    if (!to.measured || !from.measured) out_.unmeasured_seconds += carried;
    return carried;
  }

  const GpuProfile& to_;
  const GpuProfile& from_;
  TracedCosts& out_;
};

void scale_issue(const TracedStep& step, const HostParameters<double>& host, TracedCosts& out) {
  const auto seconds = [&](StepPart part, double operator_us) {
    const IssueCount& c = step.issue[static_cast<std::size_t>(part)];
    return (static_cast<double>(c.operators) * operator_us +
            static_cast<double>(c.casts) * host.cast_us) *
           1e-6;
  };
  const auto tensors = static_cast<double>(step.gradients.size());
  const std::array<double, 3> untraced{
      seconds(StepPart::forward, host.forward_us),
      seconds(StepPart::backward, host.backward_us),
      seconds(StepPart::optimizer, host.forward_us) +
          (tensors * host.optimizer_tensor_us + host.step_us) * 1e-6};
  for (std::size_t i = 0; i < untraced.size(); ++i) {
    const double traced = step.issue[i].seconds;
    out.issue_scale[i] = traced > untraced[i] ? untraced[i] / traced : 1;
  }
}

}  // namespace

TracedCosts cost_traced_step(const TracedStep& step,
                             const GpuProfile& gpu,
                             const GpuProfile* traced_on) {
  TracedCosts out;
  out.kernel_seconds.reserve(step.kernels.size());
  double all = 0;
  for (const TracedKernel& k : step.kernels) all += k.seconds;
  if (traced_on == nullptr) {
    for (const TracedKernel& k : step.kernels) out.kernel_seconds.push_back(k.seconds);
    out.kept = 1;
  } else {
    Carry carry(gpu, *traced_on, out);
    for (const TracedKernel& k : step.kernels) {
      // What hid behind another kernel there, hides here.
      out.kernel_seconds.push_back(k.seconds > 0 ? carry.seconds(step, k) : 0);
    }
    if (all > 0) {
      out.by_operator /= all;
      out.by_rate /= all;
    }
  }
  scale_issue(step, gpu.host, out);
  return out;
}

std::optional<std::int64_t> infer_parameters(const TracedStep& step, const GpuProfile& traced_on) {
  double update = 0;
  for (const TracedKernel& k : step.kernels) {
    if (k.part == StepPart::optimizer) update += k.seconds;
  }
  const auto& p = traced_on.pass[static_cast<std::size_t>(PassKind::adamw)];
  const double moved = (update - p.overhead_us * 1e-6) * p.bandwidth_TBps * 1e12;
  const double each = bytes(Pass{PassKind::adamw, 1, 1, step.gradient_dtype}).value;
  const double elements = moved / each;
  if (!(elements >= 1)) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(std::min(elements, 1e13)));
}

}  // namespace stepsight
