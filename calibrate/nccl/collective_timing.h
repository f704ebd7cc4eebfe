// One collective of one size: is the result right, and how long does it take.
#pragma once
#include <cstdint>
#include <vector>

#include "calibrate/measure/statistics.h"
#include "calibrate/nccl/world.h"

namespace stepsight::calibrate {

// Send and receive memory of this process' GPUs, used for every size and subset.
class CollectiveMemory {
 public:
  // `bytes` for each of the two buffers on each device.
  CollectiveMemory(const std::vector<int>& devices, std::int64_t bytes);

  // For each member of the group; the memory of its device.
  std::vector<Buffers> buffers(const Group& group) const;

 private:
  struct Slab {
    int device;
    DeviceMemory send;
    DeviceMemory receive;
  };
  std::vector<Slab> slabs_;
};

// Fills the send buffers with small whole numbers, runs once and counts the elements of the receive
// buffers that are wrong: all elements up to 1 MiB, above that the edges of every rank's block. The
// largest count over all processes.
std::int64_t count_wrong(World& world,
                         const Group& group,
                         CollectiveKind kind,
                         const std::vector<Buffers>& buffers,
                         std::int64_t elements);

// Microseconds of one collective: several back to back on every rank, begin and end by events, the
// slowest rank counts. All launches are queued behind a kernel that holds the streams, and behind a
// small all-reduce that lets all ranks begin together; so neither the host's issue time nor the
// order in which ranks were issued is in the figure. Same result on every process.
Summary time_collective(World& world,
                        const Group& group,
                        CollectiveKind kind,
                        const std::vector<Buffers>& buffers,
                        std::int64_t elements,
                        double budget_s);

}  // namespace stepsight::calibrate
