// Every collective that a step uses, looked up once.
#pragma once
#include <array>

#include "model/parallel_layout.h"
#include "model/profile.h"
#include "model/scenario.h"
#include "model/transformer.h"
#include "simulate/link.h"

namespace stepsight {

class PriceCache;

// What ranks that share out the optimizer's states do with gradients.
constexpr CollectiveKind gradient_collective(const Precision& precision) {
  return precision.wide_sums ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
}

struct StepLinks {
  // By axis and kind; Kind::none where a group has one rank or nobody asked.
  std::array<std::array<Link, collectives.size()>, axis_count> groups;
  // What DDP's buckets travel over: the all-reduce of Axis::data, or the loop-back.
  Link gradients;
  // Between a pipeline's neighbouring stages, and between its first and last (a tied embedding).
  Link neighbours, ends;

  [[nodiscard]] const Link& of(Axis axis, CollectiveKind kind) const {
    return groups[static_cast<std::size_t>(axis)][static_cast<std::size_t>(kind)];
  }
};

// UserError for a link that the profile does not know, or a group that it cannot join.
StepLinks resolve_links(const GpuProfile& gpu,
                        const Scenario& scenario,
                        const StepWork& work,
                        PriceCache* cache = nullptr);

}  // namespace stepsight
