#include <algorithm>
#include <memory>

#include "calibrate/cuda/check.h"
#include "calibrate/nccl/communicators.h"
#include "calibrate/overlap/works.h"

namespace stepsight::calibrate {
namespace {

// One communicator and one pair of buffers a device for all collectives: they never run together.
struct Ring {
  Group group;
  std::vector<DeviceMemory> memory;
  std::vector<Buffers> buffers;
};

std::shared_ptr<Ring> make_ring(const std::vector<int>& devices, std::int64_t bytes, int channels) {
  auto ring = std::make_shared<Ring>();
  ring->group = make_local_group(devices, channels);
  for (const int device : devices) {
    check(cudaSetDevice(device), "cudaSetDevice");
    ring->memory.push_back(make_device_memory(bytes));
    auto* send = static_cast<float*>(ring->memory.back().get());
    ring->memory.push_back(make_device_memory(bytes));
    auto* receive = static_cast<float*>(ring->memory.back().get());
    // Sums of zeros would cost as much time; but less power.
    check(cudaMemset(send, 0x3f, static_cast<std::size_t>(bytes)), "cudaMemset");
    ring->buffers.push_back({.send = send, .receive = receive});
  }
  return ring;
}

}  // namespace

std::vector<Work> collective_works(const std::vector<int>& devices, const ChannelGroup& group) {
  if (devices.size() < 2 || group.settings.empty()) return {};
  std::int64_t most = 0;
  for (const CollectiveSetting& s : group.settings) most = std::max(most, s.bytes);
  // Room for the one element a rank that a message is rounded up to.
  const auto spare = 4 * static_cast<std::int64_t>(devices.size());
  const auto ring = make_ring(devices, most + spare, group.channels);
  std::vector<Work> works;
  for (const CollectiveSetting& setting : group.settings) {
    const std::int64_t elements = message_elements(setting.bytes, ring->group.n);
    const CollectiveKind kind = setting.kind;
    Work work{.role = "collective",
              .name = std::string(info(kind).name),
              .bytes = elements * 4,
              .channels = group.channels,
              .devices = devices,
              .streams = {},
              .launch = [ring, kind, elements] {
                launch_collective(ring->group, kind, ring->buffers, elements);
              }};
    for (const Member& member : ring->group.members) work.streams.push_back(member.stream.get());
    works.push_back(std::move(work));
  }
  return works;
}

std::string collective_library() {
  return nccl_version();
}

}  // namespace stepsight::calibrate
