#include "simulate/host_memory.h"

#include <algorithm>
#include <variant>

namespace stepsight {

double host_memory_GBps(const GpuProfile& gpu, const Cluster& cluster) {
  if (cluster.host_memory_GBps > 0) return cluster.host_memory_GBps;
  constexpr double reached = 0.43;
  constexpr double pcie4 = 25,
                   pcie5 = 50;  // GB/s a direction from which a card has that generation
  const double channels = gpu.pcie_GBps >= pcie5 ? 614 : gpu.pcie_GBps >= pcie4 ? 410 : 256;
  return reached * channels;
}

Seconds host_update_time(const StepWork& work, const GpuProfile& gpu, const Cluster& cluster) {
  double all = 0;
  for (const Operator& op : work.optimizer) {
    const auto* pass = std::get_if<Pass>(&op.work);
    // What is narrower is converted as it is read and written.
    const bool cast =
        pass != nullptr && (pass->kind == PassKind::cast_up || pass->kind == PassKind::cast_down);
    if (pass != nullptr && !cast) all += bytes(*pass).value;
  }
  const auto ranks = static_cast<double>(std::max<std::int64_t>(1, cluster.gpus / cluster.nodes));
  return Seconds{all * ranks / (host_memory_GBps(gpu, cluster) * 1e9)};
}

}  // namespace stepsight
