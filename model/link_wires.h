// What wires carry by class, and what collectives get of them: the figures behind link classes and
// behind a topology's edges whose rate nobody gave. Arrays are by generation, from 0.
#pragma once
#include <array>
#include <cstddef>

#include "model/topology.h"

namespace stepsight {

// GB/s of one lane, one direction, after line coding (PCI-SIG).
inline constexpr std::array<double, 7> pcie_lane_GBps{0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
// GB/s of one NVLink, one direction (NVIDIA's data sheets).
inline constexpr std::array<double, 6> nvlink_GBps{0, 20, 25, 25, 25, 50};
// NVLinks of a GPU on an SXM board or in a rack.
inline constexpr std::array<int, 6> nvlinks_of_gpu{0, 4, 6, 12, 18, 18};
// NVLinks of a bridge: 2080 Ti and Titan RTX, 3090 and A6000 (at 14 GB/s each), H100 NVL.
inline constexpr std::array<int, 6> nvlinks_of_bridge{0, 2, 2, 4, 12, 18};
inline constexpr double geforce_nvlink3_GBps = 14.06;

// Share of the wire's rate that collectives reach, from the sweeps in calibrate/measurements: PCIe
// peers 0.55 (RTX PRO 6000) to 0.8 (RTX 4090 with a patched driver), NVLink by generation.
inline constexpr double pcie_share = 0.65;
inline constexpr std::array<double, 6> nvlink_share{0, 0.9, 0.9, 0.8, 0.83, 0.8};
// In-switch sums move S + S / n a rank in place of 2 S (n - 1) / n; they reach this share.
inline constexpr std::array<double, 6> nvls_share{0, 0, 0, 0, 0.71, 0.52};

// What host memory hands over between two cards' staging buffers, by the platform's generation: no
// P2P means 4 to 5 GB/s on PCIe 3, 2 to 13 on PCIe 4, about 30 on PCIe 5.
inline constexpr std::array<double, 7> staging_GBps{0, 8, 8, 12.5, 19, 150, 150};
// Between sockets: for staged copies (0.7 to 3 GB/s in servers of eight before PCIe 5), and for
// PCIe peers (6.0 to 6.2 in two-socket servers with PCIe 3).
inline constexpr std::array<double, 7> socket_staged_GBps{0, 1.9, 1.9, 1.9, 1.9, 30, 30};
inline constexpr std::array<double, 7> socket_GBps{0, 3.1, 3.1, 6.2, 14, 27, 27};

// Parts of the latency in us. The base and the hop over NVLink and PCIe are NCCL's own values for
// its LL protocol on a ring (graph/tuning.cc: 6.6, 0.6, 1.0), the hop raised to what A100 and B200
// show; the others are from the sweeps.
inline constexpr double base_us = 6.6;
inline constexpr double nvlink_hop_us = 0.8;
inline constexpr double pcie_hop_us = 1.0;
inline constexpr double staging_hop_us = 2.0;
inline constexpr double pcie_switch_us = 0.2;
inline constexpr double bridge_us = 0.1;
inline constexpr double socket_us = 0.5;

struct NetworkFacts {
  double share;  // of the line rate, with GPUDirect
  double hop_us;
  double ramp_us;
};

// In the order of NetworkKind.
inline constexpr std::array<NetworkFacts, 7> networks{{
    {1, 0, 0},
    {0.92, 8, 20},   // InfiniBand
    {0.9, 9, 20},    // RoCE
    {0.85, 28, 60},  // EFA
    {0.9, 25, 60},   // TCP
    {0.7, 15, 40},   // Omni-Path
    {0.95, 60, 40},  // Slingshot
}};
// Collectives between racks of one NVLink domain carry eight adapters' worth, of 72 (405 GB/s of
// bus bandwidth over 20 racks).
inline constexpr double rack_adapters = 8;
// Sockets on one adapter: what the host's threads copy.
inline constexpr double tcp_limit_GBps = 6;
// Without GPUDirect the data takes the way over host memory: 56 % is what machines with PCIe's
// access control left on were measured at.
inline constexpr double no_gpudirect_share = 0.56;

constexpr double pcie_edge_GBps(int generation, double lanes) {
  return pcie_lane_GBps[static_cast<std::size_t>(generation)] * lanes * pcie_share;
}

// NVLink 3 of bridges with few links runs at 14 GB/s each, that of boards at 25.
constexpr double nvlink_edge_GBps(int generation, int links, bool at_switch) {
  const auto g = static_cast<std::size_t>(generation);
  const bool desktop = !at_switch && generation == 3 && links == 4;
  return (desktop ? geforce_nvlink3_GBps : nvlink_GBps[g]) * nvlink_share[g] * links;
}

// A card's half of a copy through host memory: its slot, then the memory.
constexpr double staging_edge_GBps(int generation, double slot_GBps) {
  return 1 / (1 / slot_GBps + 1 / staging_GBps[static_cast<std::size_t>(generation)]);
}

constexpr double socket_edge_GBps(int generation, bool peer_to_peer) {
  return (peer_to_peer ? socket_GBps : socket_staged_GBps)[static_cast<std::size_t>(generation)];
}
// More than two "sockets" are NUMA nodes of one, and joined so much faster.
inline constexpr double numa_over_socket = 4;

// What collectives get of one adapter of the network.
constexpr double adapter_GBps(NetworkKind kind, double line_GBps, bool gpudirect) {
  double rate = line_GBps * networks[static_cast<std::size_t>(kind)].share;
  if (kind == NetworkKind::tcp) return rate < tcp_limit_GBps ? rate : tcp_limit_GBps;
  return gpudirect ? rate : rate * no_gpudirect_share;
}

}  // namespace stepsight
