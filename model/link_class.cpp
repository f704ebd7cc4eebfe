#include "model/link_class.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "model/errors.h"
#include "model/transport.h"

namespace stepsight {

namespace {

// --- what the wires carry
// -------------------------------------------------------------------------

// GB/s of one lane, one direction, after line coding (PCI-SIG).
constexpr std::array<double, 7> pcie_lane_GBps{0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
// GB/s of one NVLink, one direction (NVIDIA's data sheets).
constexpr std::array<double, 6> nvlink_GBps{0, 20, 25, 25, 25, 50};
// NVLinks of a GPU on an SXM board or in a rack.
constexpr std::array<int, 6> nvlinks_of_gpu{0, 4, 6, 12, 18, 18};
// NVLinks of a bridge: 2080 Ti and Titan RTX, 3090 and A6000 (at 14 GB/s each), H100 NVL.
constexpr std::array<int, 6> nvlinks_of_bridge{0, 2, 2, 4, 12, 18};
constexpr double geforce_nvlink3_GBps = 14.06;

// Share of the wire's rate that collectives reach, from the sweeps in calibrate/measurements: PCIe
// peers 0.55 (RTX PRO 6000) to 0.8 (RTX 4090 with a patched driver), NVLink by generation.
constexpr double pcie_share = 0.65;
constexpr std::array<double, 6> nvlink_share{0, 0.9, 0.9, 0.8, 0.83, 0.8};
// In-switch sums move S + S / n a rank in place of 2 S (n - 1) / n; they reach this share.
constexpr std::array<double, 6> nvls_share{0, 0, 0, 0, 0.71, 0.52};

// What host memory hands over between two cards' staging buffers, by the platform's generation: no
// P2P means 4 to 5 GB/s on PCIe 3, 2 to 13 on PCIe 4, about 30 on PCIe 5.
constexpr std::array<double, 7> staging_GBps{0, 8, 8, 12.5, 19, 150, 150};
// Between sockets: for staged copies (0.7 to 3 GB/s in servers of eight before PCIe 5), and for
// PCIe peers.
constexpr std::array<double, 7> socket_staged_GBps{0, 1.9, 1.9, 1.9, 1.9, 30, 30};
constexpr std::array<double, 7> socket_GBps{0, 2.5, 2.5, 2.5, 14, 27, 27};

// Parts of the latency in us. The base and the hop over NVLink and PCIe are NCCL's own values for
// its LL protocol on a ring (graph/tuning.cc: 6.6, 0.6, 1.0), the hop raised to what A100 and B200
// show; the others are from the sweeps.
constexpr double base_us = 6.6;
constexpr double nvlink_hop_us = 0.8;
constexpr double pcie_hop_us = 1.0;
constexpr double staging_hop_us = 2.0;

struct NetworkFacts {
  double share;  // of the line rate, with GPUDirect
  double hop_us;
  double ramp_us;
};

// In the order of NetworkKind.
constexpr std::array<NetworkFacts, 7> networks{{
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
constexpr double rack_adapters = 8;
// Sockets on one adapter: what the host's threads copy.
constexpr double tcp_limit_GBps = 6;
// Without GPUDirect the data takes the way over host memory: 56 % is what machines with PCIe's
// access control left on were measured at.
constexpr double no_gpudirect_share = 0.56;

std::size_t at(int generation) {
  return static_cast<std::size_t>(generation);
}

// --- the machine
// ----------------------------------------------------------------------------------

// Cards fill one socket after the other, unless "2s" spreads two of them.
std::vector<CardSlot> usual_slots(const LinkClass& link, std::uint32_t gpus) {
  const std::uint32_t sockets =
      link.sockets > 0 ? static_cast<std::uint32_t>(link.sockets) : (gpus > 4 ? 2 : 1);
  const std::uint32_t per_socket = (gpus + sockets - 1) / sockets;
  std::vector<CardSlot> slots(gpus);
  for (std::uint32_t g = 0; g < gpus; ++g) {
    const std::uint32_t socket = g / per_socket;
    slots[g] = {socket, socket, -1};
    if (link.pcie_switches)
      slots[g].pcie_switch = static_cast<std::int32_t>(2 * socket + g % per_socket / 4);
  }
  return slots;
}

// Vertices by number, made when they are first asked for.
class Numbered {
 public:
  Numbered(Topology& t, VertexKind kind) : t_(t), kind_(kind) {}
  // The vertex, and whether it is new.
  std::pair<std::uint32_t, bool> get(std::uint32_t number) {
    for (const auto& [known, vertex] : made_) {
      if (known == number) return {vertex, false};
    }
    made_.emplace_back(number, add_vertex(t_, kind_));
    return {made_.back().second, true};
  }
  [[nodiscard]] const std::vector<std::pair<std::uint32_t, std::uint32_t>>& made() const {
    return made_;
  }

 private:
  Topology& t_;
  VertexKind kind_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> made_;
};

void join_sockets(const LinkClass& link, Topology& t, const Numbered& sockets) {
  double rate = (link.peer_to_peer ? socket_GBps : socket_staged_GBps)[at(link.pcie_generation)];
  // More than two "sockets" are NUMA nodes of one.
  if (sockets.made().size() > 2) rate *= 4;
  for (std::size_t a = 0; a < sockets.made().size(); ++a) {
    for (std::size_t b = a + 1; b < sockets.made().size(); ++b) {
      add_edge(
          t, sockets.made()[a].second, sockets.made()[b].second, EdgeKind::socket_link, rate, 0.5);
    }
  }
}

void add_pcie(const LinkClass& link, std::span<const CardSlot> slots, Topology& t) {
  const auto generation = at(link.pcie_generation);
  const double slot = pcie_lane_GBps[generation] * link.pcie_lanes * pcie_share;
  const double staging = 1 / (1 / slot + 1 / staging_GBps[generation]);
  // The uplink of a switch has all its lanes, however few the cards' slots have.
  const double uplink = pcie_lane_GBps[generation] * 16 * pcie_share;
  Numbered sockets(t, VertexKind::socket);
  Numbered bridges(t, VertexKind::host_bridge);
  Numbered switches(t, VertexKind::pcie_switch);
  for (std::uint32_t g = 0; g < t.gpus; ++g) {
    const std::uint32_t socket = sockets.get(slots[g].socket).first;
    const auto [bridge, new_bridge] = bridges.get(slots[g].host_bridge);
    if (new_bridge) add_edge(t, bridge, socket, EdgeKind::socket_link, 4 * uplink, 0.1);
    std::uint32_t above = bridge;
    if (slots[g].pcie_switch >= 0) {
      const auto [own, is_new] = switches.get(static_cast<std::uint32_t>(slots[g].pcie_switch));
      if (is_new) add_edge(t, own, bridge, EdgeKind::pcie, uplink, 0.2);
      above = own;
    }
    add_edge(t, g, above, EdgeKind::pcie, slot, pcie_hop_us / 2);
    const std::uint32_t buffer = add_vertex(t, VertexKind::staging);
    add_edge(t, g, buffer, EdgeKind::staging, staging, (staging_hop_us - pcie_hop_us) / 2);
  }
  join_sockets(link, t, sockets);
}

// Eight V100 as on DGX-1 and its cloud copies: two quads, double links on the ring of each and
// between the quads.
constexpr std::array<NvlinkPair, 16> cube_mesh{{{0, 1, 1},
                                                {0, 2, 1},
                                                {0, 3, 2},
                                                {0, 4, 2},
                                                {1, 2, 2},
                                                {1, 3, 1},
                                                {1, 5, 2},
                                                {2, 3, 2},
                                                {2, 6, 1},
                                                {3, 7, 1},
                                                {4, 5, 1},
                                                {4, 6, 1},
                                                {4, 7, 2},
                                                {5, 6, 2},
                                                {5, 7, 1},
                                                {6, 7, 2}}};

std::vector<NvlinkPair> usual_pairs(const LinkClass& link, std::uint32_t gpus) {
  std::vector<NvlinkPair> pairs;
  const int of_gpu = link.nvlinks > 0 ? link.nvlinks : usual_nvlinks(link);
  if (link.nvlink_shape == NvlinkShape::mesh) {
    for (const NvlinkPair& p : cube_mesh) {
      if (p.a < gpus && p.b < gpus) pairs.push_back(p);
    }
  } else if (link.nvlink_shape == NvlinkShape::all_to_all) {
    // Boards of four join every pair (GH200, V100 and A100 of four); two GPUs of one have their
    // share.
    const int peers = std::max(3, static_cast<int>(gpus) - 1);
    const int lanes = std::max(1, of_gpu / peers);
    for (std::uint32_t a = 0; a < gpus; ++a) {
      for (std::uint32_t b = a + 1; b < gpus; ++b) pairs.push_back({a, b, lanes});
    }
  } else if (link.nvlink_shape == NvlinkShape::pairs) {
    const int lanes = link.nvlinks > 0 ? link.nvlinks : usual_nvlinks(link);
    for (std::uint32_t a = 0; a + 1 < gpus; a += 2) pairs.push_back({a, a + 1, lanes});
  }
  return pairs;
}

// --- collectives
// ----------------------------------------------------------------------------------

// A ring of few GPUs loses more of its time to steps: the share of what many reach.
double few_ranks(double loss, std::int64_t gpus) {
  return 1 - loss / static_cast<double>(gpus);
}

// Gathers and scatters, which go round once where an all-reduce goes twice, come to somewhat less.
double gather_share(std::int64_t gpus) {
  return 0.97 * few_ranks(0.6, gpus) / few_ranks(0.33, gpus);
}

bool is_gather(CollectiveKind kind) {
  return kind != CollectiveKind::all_reduce && kind != CollectiveKind::send_recv;
}

struct MachineRates {
  double ring_GBps = 0;
  double nvls_GBps = 0;   // bus bandwidth of an all-reduce with in-switch sums; 0 without
  double pairs_GBps = 0;  // of an all-to-all
  double hop_us = 0;
};

Topology topology_for(const LinkClass& link, std::int64_t gpus) {
  if (link.machine) return *link.machine;
  return machine_topology(link, gpus);
}

// The edge of GPU 0 to an NVSwitch; null without one.
const Edge* switch_edge(const Topology& t) {
  for (const Edge& e : t.edges) {
    if (e.a == 0 && t.vertices[e.b].kind == VertexKind::nvswitch) return &e;
  }
  return nullptr;
}

MachineRates machine_rates(const LinkClass& link, std::int64_t gpus) {
  const Topology t = topology_for(link, gpus);
  if (gpus > static_cast<std::int64_t>(t.gpus)) {
    throw UserError("the topology has " + std::to_string(t.gpus) + " GPUs, but " +
                    std::to_string(gpus) + " of one machine are asked for");
  }
  const Edge* edge = switch_edge(t);
  if (edge == nullptr) {
    const RingRate rings = best_rings(t, static_cast<std::uint32_t>(gpus));
    const bool staged = rings.slowest == TransportKind::host_memory;
    const double few = staged ? few_ranks(0.5, gpus) : 1;
    const double pairs = all_to_all_rate(t, static_cast<std::uint32_t>(gpus));
    return {rings.GBps * few, 0, pairs * few, rings.latency_us};
  }
  // All equal: every edge to the switch carries one ring's flow, no search is needed.
  const auto n = static_cast<double>(gpus);
  const auto generation = at(t.nvlink_generation);
  const double ring = edge->GBps * few_ranks(0.33, gpus);
  MachineRates out{ring, 0, ring, 2 * edge->latency_us};
  if (t.in_switch_sums) {
    const double wire = nvlink_GBps[generation] * edge->lanes;
    out.nvls_GBps = wire * nvls_share[generation] / (1 + 1 / n) * 2 * (n - 1) / n;
  }
  return out;
}

// GB/s that a group has of a machine's adapters, with `gpus` GPUs on it: adapters belong to GPUs, those
// of idle GPUs are not used, and groups that talk at the same time share them evenly.
double network_GBps(const LinkClass& link, const CollectiveGroup& group, bool wire) {
  const Fabric& f = link.fabric;
  const std::int64_t gpus = std::max<std::int64_t>(1, group.ranks / group.nodes);
  const double in_use =
      std::min(1.0,
               static_cast<double>(gpus) / static_cast<double>(std::min<std::int64_t>(
                                               link.domain, std::max<std::int64_t>(gpus, 8))));
  double nics = std::min(f.nics, std::max(1.0, std::ceil(f.nics * in_use)));
  if (link.domain > 8 && !wire) nics = std::min(nics, rack_adapters);
  nics = std::min(nics, f.nics / static_cast<double>(group.sharing));
  double rate = nics * f.nic_GBps;
  if (wire) return rate;
  const NetworkFacts& facts = networks[static_cast<std::size_t>(f.kind)];
  rate *= facts.share;
  if (f.kind == NetworkKind::tcp) rate = std::min(rate, nics * tcp_limit_GBps);
  if (!f.gpudirect && f.kind != NetworkKind::tcp) rate *= no_gpudirect_share;
  if (group.nodes > f.leaf_machines) rate /= f.oversubscription;
  return rate;
}

// Bus bandwidth between machines. A ring crosses each machine's border once each way; two levels
// (sum inside, exchange 2 S (N - 1) / N between machines, spread inside) cross it less when few
// machines take part: half as much with two.
double between_machines(const CollectiveGroup& g, double network, const MachineRates& inside) {
  const auto n = static_cast<double>(g.ranks);
  const auto machines = static_cast<double>(g.nodes);
  const double per_machine = n / machines;
  if (g.kind == CollectiveKind::all_to_all) {
    return std::min(inside.pairs_GBps, network / per_machine * (n - 1) / (n - per_machine));
  }
  if (per_machine <= 1) return network;
  const double ring = std::min(inside.ring_GBps, network);
  if (g.kind != CollectiveKind::all_reduce) return ring;
  const double levels = network * (n - 1) / n * machines / (machines - 1);
  // Without in-switch sums the inner levels are chains that carry the sum up and the result down.
  const double inner = inside.nvls_GBps > 0 ? inside.nvls_GBps : 0.85 * inside.ring_GBps;
  return std::max(ring, std::min(inner, levels));
}

double hops_of(CollectiveKind kind, double ranks) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      // A ring goes round twice; from some size on a tree is used.
      return std::min(2 * (ranks - 1), 14 + 2 * std::log2(ranks));
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return ranks - 1;
    case CollectiveKind::all_to_all:
      return std::sqrt(ranks);
    case CollectiveKind::send_recv:
      return 1;
  }
  return 0;
}

void check(const LinkClass& link, const CollectiveGroup& group) {
  if (group.nodes > 1 && link.fabric.kind == NetworkKind::none) {
    throw UserError("the link names no network between machines, but " +
                    std::to_string(group.nodes) +
                    " of them are asked for: add it as in 'nvlink4-nvswitch+8x400G-ib'");
  }
}

}  // namespace

int usual_nvlinks(const LinkClass& link) {
  const bool bridge = link.nvlink_shape == NvlinkShape::pairs;
  return (bridge ? nvlinks_of_bridge : nvlinks_of_gpu)[at(link.nvlink_generation)];
}

Topology build_machine(const LinkClass& link,
                       std::span<const CardSlot> slots,
                       std::span<const NvlinkPair> pairs,
                       int switch_lanes) {
  Topology t;
  t.gpus = static_cast<std::uint32_t>(slots.size());
  t.peer_to_peer = link.peer_to_peer;
  for (std::uint32_t g = 0; g < t.gpus; ++g) add_vertex(t, VertexKind::gpu);
  add_pcie(link, slots, t);
  t.nvlink_generation = link.nvlink_generation;
  const double share = nvlink_share[at(link.nvlink_generation)];
  for (const NvlinkPair& p : pairs) {
    // NVLink 3 of bridges with few links runs at 14 GB/s each, that of boards at 25.
    const bool desktop = link.nvlink_generation == 3 && p.lanes == 4;
    const double lane = desktop ? geforce_nvlink3_GBps : nvlink_GBps[at(link.nvlink_generation)];
    add_edge(t, p.a, p.b, EdgeKind::nvlink, lane * share * p.lanes, nvlink_hop_us, p.lanes);
  }
  if (switch_lanes > 0) {
    const std::uint32_t sw = add_vertex(t, VertexKind::nvswitch);
    const double rate = nvlink_GBps[at(link.nvlink_generation)] * share * switch_lanes;
    for (std::uint32_t g = 0; g < t.gpus; ++g) {
      add_edge(t, g, sw, EdgeKind::nvlink, rate, nvlink_hop_us / 2, switch_lanes);
    }
    t.in_switch_sums = link.nvlink_generation >= 4;
  }
  return t;
}

Topology machine_topology(const LinkClass& link, std::int64_t gpus) {
  const auto count = static_cast<std::uint32_t>(std::max<std::int64_t>(gpus, 1));
  int switch_lanes = 0;
  if (link.nvlink_shape == NvlinkShape::nvswitch) {
    switch_lanes = link.nvlinks > 0 ? link.nvlinks : usual_nvlinks(link);
  }
  return build_machine(link, usual_slots(link, count), usual_pairs(link, count), switch_lanes);
}

CollectiveParameters<double> class_parameters(const LinkClass& link, const CollectiveGroup& group) {
  check(link, group);
  const std::int64_t inside_ranks = std::max<std::int64_t>(1, group.ranks / group.nodes);
  const MachineRates inside =
      inside_ranks > 1 ? machine_rates(link, inside_ranks) : MachineRates{1e9, 0, 1e9, 0};
  double busbw = group.kind == CollectiveKind::all_to_all ? inside.pairs_GBps : inside.ring_GBps;
  if (group.kind == CollectiveKind::all_reduce) busbw = std::max(busbw, inside.nvls_GBps);
  if (is_gather(group.kind)) busbw *= gather_share(inside_ranks);
  CollectiveParameters<double> p;
  p.latency_us = base_us + hops_of(group.kind, static_cast<double>(inside_ranks)) * inside.hop_us;
  double network_ramp = 0;
  if (group.nodes > 1) {
    const NetworkFacts& facts = networks[static_cast<std::size_t>(link.fabric.kind)];
    busbw = std::min(
        busbw,
        between_machines(group, network_GBps(link, group, false), inside));
    p.latency_us += 2 * std::log2(static_cast<double>(group.nodes)) * facts.hop_us + facts.hop_us;
    network_ramp = facts.ramp_us;
  }
  if (link.busbw_GBps > 0) busbw = link.busbw_GBps;
  p.busbw_GBps = busbw;
  // Between latency and bandwidth, channels and protocols fill up: more slowly on slower wires.
  p.ramp_us = 1.5 + 110 / std::sqrt(busbw) + network_ramp;
  return p;
}

double wire_busbw(const LinkClass& link, const CollectiveGroup& group) {
  check(link, group);
  const auto generation = at(link.nvlink_generation);
  const double n = static_cast<double>(group.ranks) / static_cast<double>(group.nodes);
  double inside = pcie_lane_GBps[at(link.pcie_generation)] * link.pcie_lanes;
  if (link.nvlink_shape != NvlinkShape::none) {
    const int of_gpu = link.nvlinks > 0 ? link.nvlinks : usual_nvlinks(link);
    inside = std::max(inside, nvlink_GBps[generation] * of_gpu);
  }
  // In-switch sums may send the message once where a ring sends it 2 (n - 1) / n times.
  if (group.kind == CollectiveKind::all_reduce && n > 1) inside *= 2 * (n - 1) / n;
  if (group.nodes <= 1) return inside;
  const auto ranks = static_cast<double>(group.ranks);
  const auto machines = static_cast<double>(group.nodes);
  const double network =
      network_GBps(link, group, true) *
      (group.kind == CollectiveKind::all_reduce ? (ranks - 1) / ranks * machines / (machines - 1)
                                                : (ranks - 1) / (ranks - n));
  return n > 1 ? std::min(inside, std::max(network, 0.0)) : network;
}

}  // namespace stepsight
