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

std::shared_ptr<Ring> make_ring(const std::vector<int>& devices, std::int64_t bytes) {
  auto ring = std::make_shared<Ring>();
  ring->group = make_local_group(devices);
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

std::vector<Work> collective_works(const std::vector<int>& devices,
                                   const std::vector<std::int64_t>& sizes) {
  if (devices.size() < 2 || sizes.empty()) return {};
  const auto ring = make_ring(devices, sizes.back());
  std::vector<Work> works;
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    for (const std::int64_t bytes : sizes) {
      const std::int64_t elements = message_elements(bytes, ring->group.n);
      Work work{.role = "collective",
                .name = std::string(info(kind).name),
                .bytes = elements * 4,
                .devices = devices,
                .streams = {},
                .launch = [ring, kind, elements] {
                  launch_collective(ring->group, kind, ring->buffers, elements);
                }};
      for (const Member& member : ring->group.members) work.streams.push_back(member.stream.get());
      works.push_back(std::move(work));
    }
  }
  return works;
}

std::string collective_library() {
  return nccl_version();
}

}  // namespace stepsight::calibrate
