#include "model/max_min.h"

#include <algorithm>
#include <numeric>

namespace stepsight {
namespace {

// The level at which a link that still has users is full.
double full_at(const MaxMinScratch& scratch, LinkId link) {
  return scratch.left[index(link)] / static_cast<double>(scratch.users[index(link)]);
}

// A flow stops at the lowest of its own limit and the levels at which its links are full.
double stops_at(const MaxMinScratch& scratch, std::span<const LinkId> path, double limit) {
  double level = limit;
  for (const LinkId link : path) level = std::min(level, full_at(scratch, link));
  return level;
}

void settle(MaxMinScratch& scratch, std::span<const LinkId> path, double bandwidth) {
  for (const LinkId link : path) {
    scratch.left[index(link)] -= bandwidth;
    --scratch.users[index(link)];
  }
}

}  // namespace

void max_min_fair(const FlowPaths& paths,
                  std::span<const double> capacity,
                  std::span<const std::uint32_t> active,
                  std::span<const double> limit,
                  std::span<double> share,
                  MaxMinScratch& scratch) {
  scratch.left.resize(capacity.size());
  scratch.users.resize(capacity.size());
  for (const std::uint32_t flow : active) {
    for (const LinkId link : paths.of(flow)) {
      scratch.left[index(link)] = capacity[index(link)];
      scratch.users[index(link)] = 0;
    }
  }
  for (const std::uint32_t flow : active) {
    for (const LinkId link : paths.of(flow)) ++scratch.users[index(link)];
  }
  auto& rising = scratch.rising;
  rising.resize(active.size());
  std::iota(rising.begin(), rising.end(), 0U);

  double level = 0;
  while (!rising.empty()) {
    double next = limit[rising.front()];
    for (const std::uint32_t i : rising) {
      // share holds where each flow would stop in this round, until it is settled.
      share[i] = stops_at(scratch, paths.of(active[i]), limit[i]);
      next = std::min(next, share[i]);
    }
    // Rounding in `left` may put a link's level a hair below the last one; the level never falls.
    level = std::max(level, next);
    std::erase_if(rising, [&](std::uint32_t i) {
      if (share[i] > level) return false;
      share[i] = std::min(level, limit[i]);
      settle(scratch, paths.of(active[i]), share[i]);
      return true;
    });
  }
}

}  // namespace stepsight
