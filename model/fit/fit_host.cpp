#include "model/fit/fit_host.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "model/fit/fit_group.h"
#include "model/fit/fit_state.h"
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

void count(HostCounts& out,
           const std::vector<Operator>& operators,
           IssuePhase phase,
           bool compiled,
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
  const auto units = static_cast<double>(point.units);
  const auto book = [&](HostCost<> cost, double times) { out.count[field_index(cost)] += times; };
  const auto issue = [&](std::vector<Operator> StageWork::*side, IssuePhase phase) {
    for (const auto& [stage, times] :
         {std::pair{&work.embedding, 1.0}, {&work.block, blocks}, {&work.head, 1.0}}) {
      count(out, stage->*side, phase, compiled, times);
    }
  };
  switch (point.phase) {
    case HostPhase::sharded_forward:
      book(&H::gather_unit_us, units);
      [[fallthrough]];
    case HostPhase::forward:
      issue(&StageWork::forward, IssuePhase::forward);
      book(&H::step_us, 1);
      break;
    case HostPhase::accumulating_backward:
      book(&H::accumulate_us, tensors);
      issue(&StageWork::backward, IssuePhase::backward);
      break;
    case HostPhase::bucketed_backward:
      book(&H::bucket_tensor_us, tensors);
      book(&H::collective_us, static_cast<double>(point.buckets));
      issue(&StageWork::backward, IssuePhase::backward);
      break;
    case HostPhase::sharded_backward:
      book(&H::gather_unit_us, units - 1);  // the root's parameters are still there
      book(&H::scatter_unit_us, units);
      [[fallthrough]];
    case HostPhase::backward:
      issue(&StageWork::backward, IssuePhase::backward);
      break;
    case HostPhase::sharded_optimizer:
      book(&H::sharded_tensor_us, tensors);
      [[fallthrough]];
    case HostPhase::optimizer:
      book(&H::optimizer_tensor_us, tensors);
      break;
  }
  return out;
}

HostSolution solve_host_machines(std::span<const HostPoint> points,
                                 const HostParameters<double>& start) {
  std::vector<HostCounts> counts;
  for (const HostPoint& p : points) counts.push_back(host_counts(p));
  HostSolution out;
  for (const HostPoint& p : points) out.factors[p.source] = 1;
  // Factors and costs in turn; a handful of rounds settles both.
  constexpr int rounds = 6;
  for (int round = 0; round < rounds; ++round) {
    std::vector<HostCounts> level = counts;
    for (std::size_t i = 0; i < level.size(); ++i)
      level[i].time_us /= out.factors[points[i].source];
    out.solution = solve_host(level, start);
    const HostParameters<double> host = host_parameters(out.solution);
    std::map<std::uint32_t, std::pair<double, int>> logs;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      auto& [sum, n] = logs[points[i].source];
      sum += std::log(counts[i].time_us / host_time_us(counts[i], host));
      ++n;
    }
    double mean = 0;
    for (const auto& [source, log] : logs) mean += log.first / log.second;
    mean /= static_cast<double>(logs.size());
    for (const auto& [source, log] : logs) {
      out.factors[source] = std::exp(log.first / log.second - mean);
    }
  }
  double spread = 0;
  for (const auto& [source, factor] : out.factors) spread += std::pow(std::log(factor), 2);
  spread =
      std::sqrt(spread / static_cast<double>(std::max<std::size_t>(out.factors.size() - 1, 1)));
  for (std::size_t i = 0; i < out.solution.values.size(); ++i) {
    out.solution.deviations[i] =
        std::hypot(out.solution.deviations[i], spread * out.solution.values[i]);
  }
  return out;
}

HostParameters<double> host_parameters(const Solution& solution) {
  HostParameters<double> host;
  std::size_t i = 0;
  for (const auto& field : HostParameters<double>::fields()) {
    host.*field.member = solution.values[i++];
  }
  return host;
}

double host_time_us(const HostCounts& counts, const HostParameters<double>& host) {
  double sum = 0;
  std::size_t i = 0;
  for (const auto& field : HostParameters<double>::fields()) {
    sum += host.*field.member * counts.count[i++];
  }
  return sum;
}

void fit_host(FitState& f) {
  HostParameters<double>& host = f.out.profile.host;
  host = f.class_values.host;
  if (f.measured.hosts.empty()) {
    record(f, "host", host, nullptr, 0, f.class_source);
    return;
  }
  std::vector<HostPoint> fitted;
  std::vector<HostPoint> kept;
  for (const HostPoint& p : f.measured.hosts) {
    // Whole models are held out, not phases of one.
    const auto family = static_cast<std::int64_t>(p.shape.family);
    (held_out({p.shape.layers, family, p.training.compile, 0, 0, 0}) ? kept : fitted).push_back(p);
  }
  if (fitted.empty()) std::swap(fitted, kept);
  const HostSolution machines = solve_host_machines(fitted, host);
  const Solution& solution = machines.solution;
  host = host_parameters(solution);
  const auto errors = [&](const std::vector<HostPoint>& points) {
    std::vector<double> out;
    for (const HostPoint& p : points) {
      const auto factor = machines.factors.find(p.source);
      const double machine = factor == machines.factors.end() ? 1 : factor->second;
      const HostCounts c = host_counts(p);
      out.push_back(std::abs(machine * host_time_us(c, host) / c.time_us - 1));
    }
    return out;
  };
  FitQuality q{"host",
               static_cast<int>(fitted.size()),
               static_cast<int>(kept.size()),
               median(errors(fitted)),
               0,
               0};
  if (!kept.empty()) {
    q.held_out_median_error = median(errors(kept));
    q.held_out_p90_error = percentile(errors(kept), 0.9);
  }
  f.out.profile.quality.push_back(q);
  record(f, "host", host, &solution, q.fitted_points, sources_of(f, f.measured.hosts));
}

}  // namespace stepsight
