#include "model/link_class.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "model/errors.h"
#include "model/link_wires.h"
#include "model/topology_network.h"
#include "model/transport.h"

namespace stepsight {

namespace {

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
  const bool peers_cross = link.peer_to_peer && link.reach == PeerReach::anywhere;
  double rate = socket_edge_GBps(link.pcie_generation, peers_cross);
  if (sockets.made().size() > 2) rate *= numa_over_socket;
  for (std::size_t a = 0; a < sockets.made().size(); ++a) {
    for (std::size_t b = a + 1; b < sockets.made().size(); ++b) {
      add_edge(t,
               sockets.made()[a].second,
               sockets.made()[b].second,
               EdgeKind::socket_link,
               rate,
               socket_us);
    }
  }
}

void add_pcie(const LinkClass& link, std::span<const CardSlot> slots, Topology& t) {
  const double slot = pcie_edge_GBps(link.pcie_generation, link.pcie_lanes);
  const double staging = staging_edge_GBps(link.pcie_generation, slot);
  // The uplink of a switch has all its lanes, however few the cards' slots have.
  const double uplink = pcie_edge_GBps(link.pcie_generation, 16);
  Numbered sockets(t, VertexKind::socket);
  Numbered bridges(t, VertexKind::host_bridge);
  Numbered switches(t, VertexKind::pcie_switch);
  for (std::uint32_t g = 0; g < t.gpus; ++g) {
    const std::uint32_t socket = sockets.get(slots[g].socket).first;
    const auto [bridge, new_bridge] = bridges.get(slots[g].host_bridge);
    if (new_bridge) add_edge(t, bridge, socket, EdgeKind::socket_link, 4 * uplink, bridge_us);
    std::uint32_t above = bridge;
    if (slots[g].pcie_switch >= 0) {
      const auto [own, is_new] = switches.get(static_cast<std::uint32_t>(slots[g].pcie_switch));
      if (is_new) add_edge(t, own, bridge, EdgeKind::pcie, uplink, pcie_switch_us);
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

// Between sockets one stream of a ring is slow, not the wires, which carry tens of GB/s: an
// all-to-all, with many streams, comes to what the ring does there (1.3 beside 1.3 GB/s on eight
// RTX 3090, 2.0 beside 1.5 to 2.2 on eight L40S, 18 beside 20 on eight RTX PRO 6000), where shares
// of one wire would halve it. The uplink of a PCIe switch is a wire that all cards behind it share.
bool only_sockets_between(const Topology& t, const RingRate& rings) {
  const auto is_switch = [](const Vertex& v) { return v.kind == VertexKind::pcie_switch; };
  return rings.slowest != TransportKind::nvlink &&
         std::find_if(t.vertices.begin(), t.vertices.end(), is_switch) == t.vertices.end();
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
    double pairs = all_to_all_rate(t, static_cast<std::uint32_t>(gpus));
    if (only_sockets_between(t, rings)) pairs = std::max(pairs, rings.GBps);
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

// GB/s that a group has of a machine's adapters, with `gpus` GPUs on it: adapters belong to GPUs,
// those of idle GPUs are not used, and groups that talk at the same time share them evenly.
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
  if (wire) return nics * f.nic_GBps;
  double rate = nics * adapter_GBps(f.kind, f.nic_GBps, f.gpudirect);
  if (group.nodes > f.leaf_machines) rate /= f.oversubscription;
  return rate;
}

// Bus bandwidth between machines. A ring crosses each machine's border once each way; two levels
// (sum inside, exchange 2 S (N - 1) / N between machines, spread inside) cross it less when few
// machines take part: half as much with two.
double between_machines(const CollectiveGroup& g,
                        const NetworkRates& rates,
                        const MachineRates& inside) {
  const auto n = static_cast<double>(g.ranks);
  const auto machines = static_cast<double>(g.nodes);
  const double per_machine = n / machines;
  if (g.kind == CollectiveKind::all_to_all) {
    return std::min(inside.pairs_GBps,
                    rates.pairs_GBps / per_machine * (n - 1) / (n - per_machine));
  }
  if (per_machine <= 1) return rates.ring_GBps;
  const double ring = std::min(inside.ring_GBps, rates.ring_GBps);
  if (g.kind != CollectiveKind::all_reduce) return ring;
  // Without in-switch sums the inner levels are chains that carry the sum up and the result down.
  const double inner = inside.nvls_GBps > 0 ? inside.nvls_GBps : 0.85 * inside.ring_GBps;
  return std::max(ring, std::min(inner, rates.levels_GBps));
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

bool has_own_network(const LinkClass& link) {
  return link.machine && has_network(*link.machine);
}

// What lies between the machines of a group: the adapters and switches of its own graph, or the
// class's network.
NetworkRates network_of(const LinkClass& link, const CollectiveGroup& g, std::int64_t inside) {
  if (has_own_network(link)) {
    NetworkRates rates = network_rates(*link.machine, static_cast<std::uint32_t>(inside), g.nodes);
    if (g.sharing <= 1) return rates;
    // Groups side by side on the machine's other GPUs: together no more than all adapters carry.
    const NetworkRates all = network_rates(*link.machine, link.machine->gpus, g.nodes);
    const auto groups = static_cast<double>(g.sharing);
    rates.ring_GBps = std::min(rates.ring_GBps, all.ring_GBps / groups);
    rates.levels_GBps = std::min(rates.levels_GBps, all.levels_GBps / groups);
    rates.pairs_GBps = std::min(rates.pairs_GBps, all.pairs_GBps / groups);
    return rates;
  }
  const NetworkFacts& facts = networks[static_cast<std::size_t>(link.fabric.kind)];
  const double rate = network_GBps(link, g, false);
  const auto n = static_cast<double>(g.ranks);
  const auto machines = static_cast<double>(g.nodes);
  return {rate, rate * (n - 1) / n * machines / (machines - 1), rate, facts.hop_us, facts.ramp_us};
}

void check(const LinkClass& link, const CollectiveGroup& group) {
  if (group.nodes > 1 && link.fabric.kind == NetworkKind::none && !has_own_network(link)) {
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
  t.reach = link.reach;
  for (std::uint32_t g = 0; g < t.gpus; ++g) add_vertex(t, VertexKind::gpu);
  add_pcie(link, slots, t);
  t.nvlink_generation = link.nvlink_generation;
  for (const NvlinkPair& p : pairs) {
    const double rate = nvlink_edge_GBps(link.nvlink_generation, p.lanes, false);
    add_edge(t, p.a, p.b, EdgeKind::nvlink, rate, nvlink_hop_us, p.lanes);
  }
  if (switch_lanes > 0) {
    const std::uint32_t sw = add_vertex(t, VertexKind::nvswitch);
    const double rate = nvlink_edge_GBps(link.nvlink_generation, switch_lanes, true);
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
    const NetworkRates network = network_of(link, group, inside_ranks);
    busbw = std::min(busbw, between_machines(group, network, inside));
    p.latency_us +=
        2 * std::log2(static_cast<double>(group.nodes)) * network.hop_us + network.hop_us;
    network_ramp = network.ramp_us;
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
      network_GBps(link, group, true) * (group.kind == CollectiveKind::all_reduce
                                             ? (ranks - 1) / ranks * machines / (machines - 1)
                                             : (ranks - 1) / (ranks - n));
  return n > 1 ? std::min(inside, std::max(network, 0.0)) : network;
}

}  // namespace stepsight
