// What a machine's CPUs do for its cards where states lie in host memory.
#pragma once
#include "model/profile.h"
#include "model/scenario.h"
#include "model/transformer.h"

namespace stepsight {

// GB/s that a machine's CPUs read and write together: what the scenario says, else a class value by
// the age of the machine, which the card's PCIe generation tells. CPU-Adam on two Xeon 8168
// takes 2.57 s for 10 billion parameters (Ren et al. 2021, ZeRO-Offload, table 4): at 28 bytes each
// 109 GB/s, 0.43 of what their twelve channels of DDR4-2666 carry. The same share of sixteen
// channels of DDR4-3200 (two sockets with PCIe 4) and of DDR5-4800 (PCIe 5). A factor of two either
// way is possible: cores bound to ranks, NUMA.
double host_memory_GBps(const GpuProfile& gpu, const Cluster& cluster);

// The update of a rank's share: the same passes as on the card but for casts, at the host's rate,
// which all ranks of a machine share.
Seconds host_update_time(const StepWork& work, const GpuProfile& gpu, const Cluster& cluster);

}  // namespace stepsight
