#include "calibrate/nccl/world.h"

#include <algorithm>
#include <cstring>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/device.h"

namespace stepsight::calibrate {
namespace {

constexpr double patience_s = 120;

std::vector<int> own_devices(const RankInfo& ranks) {
  const int visible = static_cast<int>(require_gpus().size());
  // Launchers that show each process only its own GPU leave it with the number 0.
  if (ranks.world > 1) return {ranks.local_rank % visible};
  std::vector<int> devices;
  for (int i = 0; i < visible; ++i) devices.push_back(i);
  return devices;
}

}  // namespace

World::World(const RankInfo& ranks, const std::string& rendezvous_file)
    : ranks_(ranks), devices_(own_devices(ranks)), meeting_(ranks, rendezvous_file, patience_s) {
  check(cudaSetDevice(devices_.front()), "cudaSetDevice");
}

int World::size() const {
  return ranks_.world > 1 ? ranks_.world : static_cast<int>(devices_.size());
}

Group World::make_group(const std::vector<int>& members) {
  if (ranks_.world == 1) return make_local_group(members);
  ncclUniqueId id{};
  if (first()) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  const std::string bytes = meeting_.broadcast(std::string_view(id.internal, sizeof id.internal));
  std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  const auto place = std::find(members.begin(), members.end(), ranks_.rank);
  const int n = static_cast<int>(members.size());
  if (place == members.end()) return Group{.members = {}, .n = n};
  return join_group(id, n, static_cast<int>(place - members.begin()), devices_.front());
}

}  // namespace stepsight::calibrate
