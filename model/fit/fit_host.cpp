#include "model/fit/fit_host.h"

#include <stdexcept>

#include "model/host_issue.h"
#include "model/transformer.h"

namespace stepsight {

namespace {

std::size_t field_index(HostCost<> cost) {
  constexpr auto fields = HostParameters<double>::fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].member == cost) return i;
  }
  throw std::logic_error("host cost without a descriptor");
}

void count(HostCounts& out, const std::vector<Operator>& operators, IssuePhase phase, bool compiled,
           double times) {
  for (const Operator& op : operators) {
    out.count[field_index(issue_cost(op.work, phase, compiled))] += times;
  }
}

}  // namespace

HostCounts host_counts(const HostPoint& point) {
  using H = HostParameters<double>;
  HostCounts out;
  out.time_us = point.time_us;
  const StepWork work = step_work(point.shape, point.training);
  const auto blocks = static_cast<double>(work.blocks);
  const auto tensors = static_cast<double>(work.tensors);
  const bool compiled = point.training.compile;
  switch (point.phase) {
    case HostPhase::forward:
      for (const auto& [stage, times] : {std::pair{&work.embedding, 1.0}, {&work.block, blocks},
                                         {&work.head, 1.0}}) {
        count(out, stage->forward, IssuePhase::forward, compiled, times);
      }
      out.count[field_index(&H::step_us)] = 1;
      break;
    case HostPhase::accumulating_backward:
    case HostPhase::bucketed_backward:
      out.count[field_index(point.phase == HostPhase::bucketed_backward ? &H::bucket_tensor_us
                                                                        : &H::accumulate_us)] =
          tensors;
      out.count[field_index(&H::collective_us)] = static_cast<double>(point.buckets);
      [[fallthrough]];
    case HostPhase::backward:
      for (const auto& [stage, times] : {std::pair{&work.embedding, 1.0}, {&work.block, blocks},
                                         {&work.head, 1.0}}) {
        count(out, stage->backward, IssuePhase::backward, compiled, times);
      }
      break;
    case HostPhase::optimizer:
      out.count[field_index(&H::optimizer_tensor_us)] = tensors;
      break;
  }
  return out;
}

double host_time_us(const HostCounts& counts, const HostParameters<double>& host) {
  double sum = 0;
  std::size_t i = 0;
  for (const auto& field : HostParameters<double>::fields()) {
    sum += host.*field.member * counts.count[i++];
  }
  return sum;
}

}  // namespace stepsight
