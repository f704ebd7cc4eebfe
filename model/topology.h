// One machine as a graph: GPUs, PCIe switches, host bridges, sockets, NVSwitch, and what joins
// them, each edge with the bandwidth that a collective gets of it in one direction and with its
// latency. Machines of a cluster are equal, so one stands for all. What lies between them is a
// Fabric by class, or part of the graph: the machine's adapters, the leaves that they hang on, and
// the spines above.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace stepsight {

enum class VertexKind : std::uint8_t {
  gpu,
  pcie_switch,
  host_bridge,
  socket,
  nvswitch,
  staging,
  nic,
  leaf,   // a switch of the network that adapters are plugged into
  spine,  // a switch that joins leaves
};
enum class EdgeKind : std::uint8_t {
  pcie,
  nvlink,
  socket_link,  // between sockets, and from a host bridge to its socket
  staging,      // from a GPU through host memory: write, hand over, read
  network,      // from an adapter to its leaf, from a leaf to a spine
};

struct Vertex {
  VertexKind kind = VertexKind::gpu;
};

// Full duplex: `GBps` in each direction.
struct Edge {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  EdgeKind kind = EdgeKind::pcie;
  double GBps = 0;
  double latency_us = 0;
  std::int32_t lanes = 1;  // NVLinks of a direct connection; 1 otherwise
};

// How far apart two cards may sit for NCCL to let them reach each other's memory over PCIe (its
// NCCL_P2P_LEVEL; defaults in graph/paths.cc, ncclTopoCheckP2p): anywhere, as on AMD hosts before
// NCCL 2.17 or so; under one host bridge, as on Intel hosts of that time; or behind PCIe switches
// only, as today, with more than two cards.
enum class PeerReach : std::uint8_t { anywhere, host_bridge, pcie_switch };

// GPUs are the first `gpus` vertices, in the order of their numbers.
struct Topology {
  std::uint32_t gpus = 0;
  bool peer_to_peer = true;               // PCIe peers may reach each other's memory
  PeerReach reach = PeerReach::anywhere;  // those that NCCL lets do so
  int nvlink_generation = 0;              // 0 without NVLink
  bool in_switch_sums = false;            // NVSwitch of the third generation on: NVLS
  // The graph's leaves serve so many machines; the next machines have such leaves of their own, and
  // spines are common to all. 0: all machines are under the leaves.
  std::int64_t machines_per_leaf = 0;
  bool packed = true;  // the job's machines fill one set of leaves after the other
  std::vector<Vertex> vertices;
  std::vector<Edge> edges;
};

std::uint32_t add_vertex(Topology& t, VertexKind kind);
void add_edge(Topology& t,
              std::uint32_t a,
              std::uint32_t b,
              EdgeKind kind,
              double GBps,
              double latency_us,
              std::int32_t lanes = 1);

// Edges by vertex, for searches.
struct Neighbour {
  std::uint32_t vertex = 0;
  std::uint32_t edge = 0;
};
std::vector<std::vector<Neighbour>> neighbours(const Topology& t);

// What lies between machines.
enum class NetworkKind : std::uint8_t { none, infiniband, roce, efa, tcp, omnipath, slingshot };
struct Fabric {
  NetworkKind kind = NetworkKind::none;
  double nics = 0;                  // a machine
  double nic_GBps = 0;              // line rate of one, one direction
  bool gpudirect = true;            // adapters reach the GPUs' memory themselves
  double oversubscription = 1;      // of the uplinks, for traffic that leaves a leaf
  std::int64_t leaf_machines = 32;  // machines under one leaf (or one set of rail leaves)
};

}  // namespace stepsight
