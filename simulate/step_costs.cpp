#include "simulate/step_costs.h"

#include <variant>

#include "model/errors.h"
#include "simulate/price_cache.h"

namespace stepsight {

namespace {

struct Pricing {
  const GpuProfile& gpu;
  PriceCache* cache;

  [[nodiscard]] Cost of(const Work& work) const {
    return cache != nullptr ? cache->cost(work) : cost(work, gpu);
  }
};

std::vector<Cost> costs(const std::vector<Operator>& operators, const Pricing& prices) {
  std::vector<Cost> out;
  out.reserve(operators.size());
  for (const Operator& op : operators) out.push_back(prices.of(op.work));
  return out;
}

void check_formats(const StageWork& stage, const GpuProfile& gpu) {
  if (gpu.vendor_TFLOPS[static_cast<std::size_t>(Dtype::fp8)] > 0) return;
  for (const Operator& op : stage.forward) {
    const auto* gemm = std::get_if<Gemm>(&op.work);
    if (gemm != nullptr && gemm->dtype == Dtype::fp8) {
      throw UserError("fp8 = true: " + gpu.title + " has no products in fp8");
    }
  }
}

StageCosts costs(const StageWork& stage, const Precision& precision, const Pricing& prices) {
  StageCosts out{costs(stage.forward, prices), costs(stage.backward, prices), {}, {}};
  out.accumulate.reserve(stage.ready.size());
  out.copy.reserve(stage.ready.size());
  for (const GradientReady& gradient : stage.ready) {
    out.accumulate.push_back(prices.of(accumulate_pass(gradient, precision)));
    out.copy.push_back(prices.of(bucket_copy_pass(gradient, precision)));
  }
  return out;
}

}  // namespace

// Wide sums: the 16-bit gradients of the micro-step before are set to zero (2 bytes an element),
// autograd adds to them (6), and then they are cast to fp32 (6) and added there (12): 26, in adds
// of 12 (DeepSpeed, runtime/bf16_optimizer.py, clear_lp_grads and update_hp_grads).
Pass accumulate_pass(const GradientReady& gradient, const Precision& precision) {
  if (precision.wide_sums) return {PassKind::add, 1, gradient.elements * 13 / 6, Dtype::fp32};
  return {PassKind::add, 1, gradient.elements, parameter_dtype(precision)};
}

Pass bucket_copy_pass(const GradientReady& gradient, const Precision& precision) {
  return {PassKind::copy, 1, gradient.elements, parameter_dtype(precision)};
}

StepCosts cost_step(const StepWork& work,
                    const Precision& precision,
                    const GpuProfile& gpu,
                    PriceCache* cache) {
  check_formats(work.block, gpu);
  const Pricing prices{gpu, cache};
  StepCosts out{costs(work.embedding, precision, prices),
                costs(work.block, precision, prices),
                costs(work.kept_block, precision, prices),
                costs(work.head, precision, prices),
                {}};
  for (const Operator& op : work.optimizer) out.optimizer.push_back(prices.of(op.work));
  return out;
}

}  // namespace stepsight
