#include "calibrate/measure/overlap_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace stepsight::calibrate {
namespace {

constexpr std::int64_t mib = 1LL << 20;

constexpr std::array<CollectiveKind, 3> gradient_collectives{
    CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter};

}  // namespace

std::vector<ChannelGroup> collective_settings(bool full) {
  // 25 MiB is the gradient bucket that frameworks start from; what is gathered or exchanged as one
  // piece in large models has hundreds. The largest first: its rate is least its start's.
  const std::vector<std::int64_t> sizes = full
                                              ? std::vector{400 * mib, 25 * mib, 100 * mib, 4 * mib}
                                              : std::vector{200 * mib, 25 * mib};
  std::vector<ChannelGroup> groups{{.channels = 0, .settings = {}}};
  for (const std::int64_t bytes : sizes) {
    for (const CollectiveKind kind : gradient_collectives) {
      groups.front().settings.push_back({kind, bytes, 0});
    }
  }
  if (!full) return groups;
  for (const int channels : {8, 16, 32, 4}) {
    ChannelGroup group{.channels = channels, .settings = {}};
    for (const std::int64_t bytes : {400 * mib, 25 * mib}) {
      for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather}) {
        group.settings.push_back({kind, bytes, channels});
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::int64_t work_instances(double work_us, double beside_us) {
  if (!(work_us > 0 && beside_us > 0)) throw std::logic_error("work_instances: no time");
  const double wanted = std::ceil(std::max(window_us, 2 * beside_us) / work_us);
  return static_cast<std::int64_t>(std::clamp<double>(wanted, 1, static_cast<double>(most_queued)));
}

std::int64_t beside_instances(std::int64_t instances,
                              double work_us,
                              double beside_us,
                              int doublings) {
  if (!(work_us > 0 && beside_us > 0)) throw std::logic_error("beside_instances: no time");
  const double cover = 2.5 * static_cast<double>(instances + 1) * work_us / beside_us + 2;
  return static_cast<std::int64_t>(
      std::min(std::ldexp(cover, doublings), static_cast<double>(most_queued)));
}

}  // namespace stepsight::calibrate
