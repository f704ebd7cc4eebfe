#include "simulate/step_costs.h"

namespace stepsight {

namespace {

std::vector<Cost> costs(const std::vector<Operator>& operators, const GpuProfile& gpu) {
  std::vector<Cost> out;
  out.reserve(operators.size());
  for (const Operator& op : operators) out.push_back(cost(op.work, gpu));
  return out;
}

StageCosts costs(const StageWork& stage, const Precision& precision, const GpuProfile& gpu) {
  StageCosts out{costs(stage.forward, gpu), costs(stage.backward, gpu), {}, {}};
  for (const GradientReady& gradient : stage.ready) {
    out.accumulate.push_back(cost(accumulate_pass(gradient, precision), gpu));
    out.copy.push_back(cost(bucket_copy_pass(gradient, precision), gpu));
  }
  return out;
}

}  // namespace

// Wide sums: a cast to fp32 (6 bytes an element) and an add in fp32 (12), counted as one and a half adds.
Pass accumulate_pass(const GradientReady& gradient, const Precision& precision) {
  if (precision.wide_sums) return {PassKind::add, 1, gradient.elements * 3 / 2, Dtype::fp32};
  return {PassKind::add, 1, gradient.elements, parameter_dtype(precision)};
}

Pass bucket_copy_pass(const GradientReady& gradient, const Precision& precision) {
  return {PassKind::copy, 1, gradient.elements, parameter_dtype(precision)};
}

StepCosts cost_step(const StepWork& work, const Precision& precision, const GpuProfile& gpu) {
  StepCosts out{costs(work.embedding, precision, gpu),
                costs(work.block, precision, gpu),
                costs(work.kept_block, precision, gpu),
                costs(work.head, precision, gpu),
                {}};
  for (const Operator& op : work.optimizer) out.optimizer.push_back(cost(op.work, gpu));
  return out;
}

}  // namespace stepsight
