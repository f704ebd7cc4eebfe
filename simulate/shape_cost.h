// The time of one operator, copy or collective on a card, for those who want to check or reuse the
// cost model.
#pragma once
#include <string>
#include <variant>

#include "model/profile.h"

namespace stepsight {

struct CollectiveQuery {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string link;
  std::int64_t gpus = 0;
  double bytes = 0;
};

// UserError where the profile has no curve for the link, the collective or the number of GPUs.
Cost collective_cost(const CollectiveQuery& query, const GpuProfile& gpu);

}  // namespace stepsight
