// How two GPUs of a machine talk, and the rings that a collective runs over, as NCCL would choose
// them (its graph/paths.cc and graph/search.cc): NVLink before peer-to-peer over PCIe before host
// memory; rings whose slowest edge is as fast as possible.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/topology.h"

namespace stepsight {

enum class TransportKind : std::uint8_t { nvlink, pcie_peer, host_memory };

// Edge e from a to b is 2 e, from b to a 2 e + 1.
using DirectedEdge = std::uint32_t;

struct Transport {
  TransportKind kind = TransportKind::nvlink;
  std::vector<DirectedEdge> path;
  double GBps = 0;  // alone on its path
  double latency_us = 0;
};

// All ordered pairs of the first `gpus` GPUs. std::logic_error when two GPUs are not connected.
class Transports {
 public:
  Transports(const Topology& topology, std::uint32_t gpus);
  [[nodiscard]] const Transport& between(std::uint32_t from, std::uint32_t to) const {
    return table_[from * gpus_ + to];
  }
  [[nodiscard]] std::uint32_t gpus() const { return gpus_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }

 private:
  const Topology& topology_;
  std::uint32_t gpus_;
  std::vector<Transport> table_;
};

// What the rings of a group carry together.
struct RingRate {
  double GBps = 0;        // bytes a second through each GPU, all rings together: the bus bandwidth
  double latency_us = 0;  // of one hop, the slowest
  TransportKind slowest = TransportKind::nvlink;
  std::vector<std::uint32_t> order;  // of one of the rings
};

// The best rings over the first `gpus` (>= 2) GPUs of the machine.
RingRate best_rings(const Topology& topology, std::uint32_t gpus);

// Bytes a second that each of the first `gpus` (>= 2) GPUs sends when all send to all others at
// once, as fast as the slowest pair.
double all_to_all_rate(const Topology& topology, std::uint32_t gpus);

// Rates of rings in the given order, both ways round, that run at once: flows that share an edge
// share it max-min fairly, and each ring is as fast as its slowest edge.
RingRate ring_rate(const Transports& transports, std::span<const std::uint32_t> order);

}  // namespace stepsight
