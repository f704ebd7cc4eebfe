// Which ranks of a scenario talk to each other: the groups that its parallel splits make, how large
// they are, and how they lie on the machines.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/link_class.h"
#include "model/scenario.h"

namespace stepsight {

// `data` are all ranks that hold the same parameters, those of context parallelism included: their
// gradients are summed. `shard` is the inner part of it that shares one copy of the states,
// `replicate` the outer part; `expert` is another inner part of it, that shares out the experts. An
// expert is then held by every `expert`-th rank of `data` only: those are `expert_data`, with a
// sharded and a replicated part of their own (Megatron-LM's and DeepSpeed-MoE's groups).
enum class Axis : std::uint8_t {
  tensor,
  context,
  expert,
  shard,
  replicate,
  data,
  pipeline,
  expert_shard,
  expert_replicate,
  expert_data
};
inline constexpr std::size_t axis_count = 10;
inline constexpr std::array<std::string_view, axis_count> axis_names{"tensor",
                                                                     "context",
                                                                     "expert",
                                                                     "shard",
                                                                     "replicate",
                                                                     "data",
                                                                     "pipeline",
                                                                     "expert_shard",
                                                                     "expert_replicate",
                                                                     "expert_data"};
// Where the parameters of experts that are shared out have groups of their own, those groups: of
// shard, replicate and data.
constexpr Axis of_experts(Axis axis) {
  switch (axis) {
    case Axis::shard:
      return Axis::expert_shard;
    case Axis::replicate:
      return Axis::expert_replicate;
    case Axis::data:
      return Axis::expert_data;
    default:
      return axis;
  }
}

// Model replicas that see different sequences: gpus / (tensor x context x pipeline). Precondition
// for this and the rest: violations(scenario) is empty.
std::int64_t data_parallel(const Scenario& scenario);

std::int64_t axis_size(const Scenario& scenario, Axis axis);

// The group of an axis on the cluster: its ranks, the machines that they are spread over, and how
// many such groups share a machine's network.
CollectiveGroup group_of(const Scenario& scenario, Axis axis, CollectiveKind kind);

// Positions of tp, cp, dp and pp in an order such as "tp-cp-dp-pp", innermost first. Nothing when a
// word is missing, repeated or unknown.
enum class Split : std::uint8_t { tensor, context, data, pipeline };
std::optional<std::array<Split, 4>> parse_order(std::string_view order);

}  // namespace stepsight
