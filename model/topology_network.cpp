#include "model/topology_network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "model/errors.h"
#include "model/transport.h"

namespace stepsight {

namespace {

using Adjacency = std::vector<std::vector<Neighbour>>;

// Which adapters a group uses and which GPU is near each.
struct Adapter {
  std::uint32_t vertex = 0;
  std::uint32_t gpu = 0;
  std::vector<DirectedEdge> out;  // from the GPU to the adapter
};

DirectedEdge directed(const Topology& t, std::uint32_t edge, std::uint32_t from) {
  return 2 * edge + (t.edges[edge].a == from ? 0U : 1U);
}

bool inside_machine(const Edge& e) {
  return e.kind == EdgeKind::pcie || e.kind == EdgeKind::socket_link;
}

// For every vertex the edges of a shortest way from `gpu`; those that cannot be reached have none.
std::vector<std::vector<DirectedEdge>> ways_from(const Topology& t,
                                                 const Adjacency& near,
                                                 std::uint32_t gpu) {
  std::vector<std::vector<DirectedEdge>> way(t.vertices.size());
  std::vector<std::uint32_t> queue{gpu};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint32_t at = queue[head];
    const VertexKind kind = t.vertices[at].kind;
    if (at != gpu && (kind == VertexKind::gpu || kind == VertexKind::nic)) continue;
    for (const Neighbour& next : near[at]) {
      if (next.vertex == gpu || !way[next.vertex].empty()) continue;
      if (!inside_machine(t.edges[next.edge])) continue;
      way[next.vertex] = way[at];
      way[next.vertex].push_back(directed(t, next.edge, at));
      queue.push_back(next.vertex);
    }
  }
  return way;
}

using Ways = std::vector<std::vector<std::vector<DirectedEdge>>>;  // [GPU][vertex]

// Every GPU's nearest adapters; each adapter with the GPU that has fewest of them, among those as
// near.
std::vector<Adapter> adapters_in_use(const Topology& t, const Ways& ways) {
  const auto gpus = static_cast<std::uint32_t>(ways.size());
  std::map<std::uint32_t, std::vector<std::uint32_t>> users;  // of an adapter: GPUs nearest to it
  for (std::uint32_t g = 0; g < gpus; ++g) {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (std::uint32_t v = 0; v < t.vertices.size(); ++v) {
      const bool reached = t.vertices[v].kind == VertexKind::nic && !ways[g][v].empty();
      if (reached) least = std::min(least, ways[g][v].size());
    }
    for (std::uint32_t v = 0; v < t.vertices.size(); ++v) {
      const bool nearest = t.vertices[v].kind == VertexKind::nic && ways[g][v].size() == least;
      if (nearest) users[v].push_back(g);
    }
  }
  std::vector<Adapter> out;
  std::vector<int> taken(gpus, 0);
  for (const auto& [nic, candidates] : users) {
    // Those for whom another adapter is as near may be farther from this one than others are.
    std::uint32_t best = candidates.front();
    for (const std::uint32_t g : candidates) {
      const std::pair<std::size_t, int> cost{ways[g][nic].size(), taken[g]};
      if (cost < std::pair<std::size_t, int>{ways[best][nic].size(), taken[best]}) best = g;
    }
    ++taken[best];
    out.push_back({nic, best, ways[best][nic]});
  }
  return out;
}

struct Port {
  DirectedEdge edge = 0;  // up
  std::uint32_t above = 0;
};

// Edges of the network that lead up from an adapter or a leaf.
std::vector<Port> ports_up(const Topology& t, const Adjacency& near, std::uint32_t from) {
  const VertexKind up =
      t.vertices[from].kind == VertexKind::nic ? VertexKind::leaf : VertexKind::spine;
  std::vector<Port> out;
  for (const Neighbour& next : near[from]) {
    if (t.edges[next.edge].kind != EdgeKind::network || t.vertices[next.vertex].kind != up) {
      continue;
    }
    out.push_back({directed(t, next.edge, from), next.vertex});
  }
  return out;
}

// How often what a set of leaves' machines send crosses its border: of the ring's edges that leave
// one of its machines, and of a machine's traffic with all others.
struct Border {
  double crossings = 0;      // of a ring, each way
  double share_leaving = 0;  // of what a machine sends to all others
  double machines = 0;       // under one set of leaves
};

Border border_of(const Topology& t, std::int64_t machines) {
  const std::int64_t under = t.machines_per_leaf > 0 ? t.machines_per_leaf : machines;
  if (machines <= under) return {0, 0, static_cast<double>(machines)};
  const auto m = static_cast<double>(under);
  const auto n = static_cast<double>(machines);
  const double leaving = (n - m) / (n - 1);
  return {t.packed ? 1 : m * leaving, leaving, m};
}

// What a ring takes of each edge for each byte a second of its own.
using Usage = std::map<DirectedEdge, double>;

void cross(Usage& ring, const std::vector<DirectedEdge>& path, double share = 1) {
  for (const DirectedEdge e : path) ring[e] += share;
}
void cross_back(Usage& ring, const std::vector<DirectedEdge>& path, double share) {
  for (const DirectedEdge e : path) ring[e ^ 1U] += share;
}
// Both ways over parallel edges that share the load evenly.
void cross_evenly(Usage& ring, const std::vector<Port>& ports, double share) {
  for (const Port& p : ports) {
    ring[p.edge] += share / static_cast<double>(ports.size());
    ring[p.edge ^ 1U] += share / static_cast<double>(ports.size());
  }
}

// Sum of the rings' rates when all rise together from zero and each stops at the first edge that is
// full (max-min fair, as model/max_min.h, with parts of edges).
double fair_total(const Topology& t, const std::vector<Usage>& rings) {
  std::vector<bool> done(rings.size(), false);
  std::vector<double> left(2 * t.edges.size());
  for (std::size_t e = 0; e < left.size(); ++e) left[e] = t.edges[e / 2].GBps;
  double level = 0;
  double total = 0;
  for (std::size_t settled = 0; settled < rings.size();) {
    std::vector<double> load(left.size(), 0);
    for (std::size_t r = 0; r < rings.size(); ++r) {
      if (done[r]) continue;
      for (const auto& [edge, share] : rings[r]) load[edge] += share;
    }
    double rise = std::numeric_limits<double>::max();
    for (std::size_t e = 0; e < left.size(); ++e) {
      if (load[e] > 0) rise = std::min(rise, left[e] / load[e]);
    }
    level += rise;
    for (std::size_t e = 0; e < left.size(); ++e) left[e] -= rise * load[e];
    for (std::size_t r = 0; r < rings.size(); ++r) {
      const bool full = !done[r] && std::ranges::any_of(rings[r], [&](const auto& used) {
        return left[used.first] <= 1e-9 * t.edges[used.first / 2].GBps;
      });
      if (!full) continue;
      done[r] = true;
      total += level;
      ++settled;
    }
  }
  return total;
}

// The way of a ring through the machine's GPUs, where NVLink does not carry it: from the adapter's
// own GPU over all others, as their best ring has them, and out at the last. With NVLink it comes
// and goes at the adapter's own. `share` is what leaves the machine for each byte inside.
void cross_machine(Usage& ring,
                   const Transports& transports,
                   const RingRate& inside,
                   const Ways& ways,
                   const Adapter& adapter,
                   double share) {
  cross_back(ring, adapter.out, share);
  const std::size_t n = inside.order.size();
  if (n < 2 || inside.slowest == TransportKind::nvlink) {
    cross(ring, adapter.out, share);
    return;
  }
  const auto start =
      static_cast<std::size_t>(std::ranges::find(inside.order, adapter.gpu) - inside.order.begin());
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const std::uint32_t from = inside.order[(start + i) % n];
    cross(ring, transports.between(from, inside.order[(start + i + 1) % n]).path);
  }
  cross(ring, ways[inside.order[(start + n - 1) % n]][adapter.vertex], share);
}

double port_latency(const Topology& t, const std::vector<Port>& ports) {
  double most = 0;
  for (const Port& p : ports) most = std::max(most, t.edges[p.edge / 2].latency_us);
  return most;
}

std::vector<Port> uplinks_of(const Topology& t,
                             const Adjacency& near,
                             const std::vector<Port>& ports,
                             std::int64_t machines) {
  std::vector<Port> up;
  for (const Port& p : ports) {
    for (const Port& link : ports_up(t, near, p.above)) up.push_back(link);
  }
  if (up.empty()) {
    throw UserError("the topology's leaves serve " + std::to_string(t.machines_per_leaf) +
                    " machines and no spine joins them, but " + std::to_string(machines) +
                    " machines are asked for");
  }
  return up;
}

// GB/s out of a machine at which the first leaf's uplinks are full, when every machine under a set
// of leaves sends the same share of its traffic up.
double leaving_GBps(const Topology& t,
                    const Adjacency& near,
                    const Border& border,
                    const std::map<std::uint32_t, double>& at_leaf) {
  double all = 0;
  for (const auto& [leaf, rate] : at_leaf) all += rate;
  double least = std::numeric_limits<double>::max();
  for (const auto& [leaf, rate] : at_leaf) {
    double up = 0;
    for (const Port& link : ports_up(t, near, leaf)) up += t.edges[link.edge / 2].GBps;
    least = std::min(least, up / (border.machines * border.share_leaving * rate / all));
  }
  return least;
}

}  // namespace

bool has_network(const Topology& t) {
  return std::ranges::any_of(t.vertices, [](const Vertex& v) { return v.kind == VertexKind::nic; });
}

NetworkRates network_rates(const Topology& t, std::uint32_t gpus, std::int64_t machines) {
  const Adjacency near = neighbours(t);
  Ways ways;
  for (std::uint32_t g = 0; g < gpus; ++g) ways.push_back(ways_from(t, near, g));
  const std::vector<Adapter> adapters = adapters_in_use(t, ways);
  if (adapters.empty()) throw UserError("the topology joins no adapter to the GPUs in use");
  const Border border = border_of(t, machines);
  const Transports transports(t, gpus);
  RingRate inside;
  inside.order = {0};
  if (gpus > 1) inside = best_rings(t, gpus);
  const auto m = static_cast<double>(machines);
  const double ranks = m * gpus;
  // Of a message, two levels send through an adapter for each byte that a ring sends.
  const double exchanged = (m - 1) / m * ranks / (ranks - 1);

  NetworkRates out;
  std::vector<Usage> rings(adapters.size());
  std::vector<Usage> levels(adapters.size());
  double adapters_GBps = 0;
  std::map<std::uint32_t, double> at_leaf;  // GB/s that the machine has there
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const std::vector<Port> ports = ports_up(t, near, adapters[i].vertex);
    if (ports.empty()) throw UserError("an adapter of the topology is joined to no leaf");
    std::vector<Port> up;
    if (border.crossings > 0) up = uplinks_of(t, near, ports, machines);
    for (const bool in_levels : {false, true}) {
      Usage& ring = in_levels ? levels[i] : rings[i];
      const double share = in_levels ? exchanged : 1;
      cross_machine(ring, transports, inside, ways, adapters[i], share);
      cross_evenly(ring, ports, share);
      if (!up.empty()) cross_evenly(ring, up, share * border.crossings);
    }
    double rate = 0;
    for (const Port& p : ports) {
      rate += t.edges[p.edge / 2].GBps;
      at_leaf[p.above] += t.edges[p.edge / 2].GBps;
    }
    for (const DirectedEdge e : adapters[i].out) rate = std::min(rate, t.edges[e / 2].GBps);
    adapters_GBps += rate;
    out.hop_us = std::max(out.hop_us, 2 * (port_latency(t, ports) + port_latency(t, up)));
  }
  out.ring_GBps = fair_total(t, rings);
  out.levels_GBps = fair_total(t, levels);
  out.pairs_GBps = adapters_GBps;
  if (border.crossings > 0) {
    out.pairs_GBps = std::min(out.pairs_GBps, leaving_GBps(t, near, border, at_leaf));
  }
  // The networks' ramps are two to three hops (model/link_wires.h).
  out.ramp_us = 2.5 * out.hop_us;
  return out;
}

}  // namespace stepsight
