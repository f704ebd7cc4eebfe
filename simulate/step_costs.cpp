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

Pass accumulate_pass(const GradientReady& gradient, const Precision& precision) {
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
