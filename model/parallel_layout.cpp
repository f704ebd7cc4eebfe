#include "model/parallel_layout.h"

#include <algorithm>

namespace stepsight {

namespace {

constexpr std::array<std::string_view, 4> split_names{"tp", "cp", "dp", "pp"};

std::int64_t size_of(const Scenario& s, Split split) {
  switch (split) {
    case Split::tensor:
      return s.parallel.tensor;
    case Split::context:
      return s.parallel.context;
    case Split::data:
      return data_parallel(s);
    case Split::pipeline:
      return s.parallel.pipeline;
  }
  return 1;
}

// Distance between neighbours of a split: the ranks of all splits inside it.
std::int64_t stride_of(const Scenario& s, Split split) {
  const auto order = parse_order(s.parallel.order);
  std::int64_t stride = 1;
  if (!order) return stride;
  for (const Split inner : *order) {
    if (inner == split) break;
    stride *= size_of(s, inner);
  }
  return stride;
}

std::int64_t stride_of(const Scenario& s, Axis axis) {
  switch (axis) {
    case Axis::tensor:
      return stride_of(s, Split::tensor);
    case Axis::context:
      return stride_of(s, Split::context);
    case Axis::pipeline:
      return stride_of(s, Split::pipeline);
    case Axis::expert:
    case Axis::shard:
    case Axis::data:
      return std::min(
          stride_of(s, Split::data),
          s.parallel.context > 1 ? stride_of(s, Split::context) : stride_of(s, Split::data));
    case Axis::replicate:
      return stride_of(s, Axis::shard) * axis_size(s, Axis::shard);
    case Axis::expert_shard:
    case Axis::expert_data:
      return stride_of(s, Axis::data) * s.parallel.expert;
    case Axis::expert_replicate:
      return stride_of(s, Axis::expert_shard) * axis_size(s, Axis::expert_shard);
  }
  return 1;
}

}  // namespace

std::int64_t data_parallel(const Scenario& scenario) {
  const Parallel& p = scenario.parallel;
  const std::int64_t model_ranks = p.tensor * p.context * p.pipeline;
  return std::max<std::int64_t>(1, scenario.cluster.gpus / std::max<std::int64_t>(1, model_ranks));
}

std::int64_t axis_size(const Scenario& scenario, Axis axis) {
  const Parallel& p = scenario.parallel;
  const std::int64_t data = data_parallel(scenario) * p.context;
  const std::int64_t shards =
      !shards_optimizer(p.strategy) ? 1 : (p.shard_group > 0 ? p.shard_group : data);
  switch (axis) {
    case Axis::tensor:
      return p.tensor;
    case Axis::context:
      return p.context;
    case Axis::expert:
      return p.expert;
    case Axis::data:
      return data;
    case Axis::shard:
      return shards;
    case Axis::replicate:
      return data / shards;
    case Axis::pipeline:
      return p.pipeline;
    case Axis::expert_shard:
      return std::max<std::int64_t>(1, shards / p.expert);
    case Axis::expert_replicate:
      return data / p.expert / std::max<std::int64_t>(1, shards / p.expert);
    case Axis::expert_data:
      return data / p.expert;
  }
  return 1;
}

CollectiveGroup group_of(const Scenario& scenario, Axis axis, CollectiveKind kind) {
  CollectiveGroup group;
  group.kind = kind;
  group.ranks = axis_size(scenario, axis);
  const std::int64_t machines = scenario.cluster.nodes;
  const std::int64_t each = scenario.cluster.gpus / machines;
  const std::int64_t on_machine =
      std::clamp<std::int64_t>(each / stride_of(scenario, axis), 1, group.ranks);
  group.nodes = std::min(machines, (group.ranks + on_machine - 1) / on_machine);
  group.sharing = group.nodes > 1 ? std::max<std::int64_t>(1, each / on_machine) : 1;
  return group;
}

std::optional<std::array<Split, 4>> parse_order(std::string_view order) {
  std::array<Split, 4> out{};
  std::array<bool, 4> seen{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t end = std::min(order.find('-'), order.size());
    const auto* const name = std::ranges::find(split_names, order.substr(0, end));
    const auto at = static_cast<std::size_t>(name - split_names.begin());
    if (at == split_names.size() || seen[at]) return std::nullopt;
    seen[at] = true;
    out[i] = static_cast<Split>(at);
    order.remove_prefix(std::min(end + 1, order.size()));
  }
  if (!order.empty()) return std::nullopt;
  return out;
}

}  // namespace stepsight
