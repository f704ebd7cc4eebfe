#include "model/transport.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "model/max_min.h"

namespace stepsight {

namespace {

using Adjacency = std::vector<std::vector<Neighbour>>;

bool usable(const Edge& edge, TransportKind kind) {
  switch (kind) {
    case TransportKind::nvlink:
      return edge.kind == EdgeKind::nvlink;
    case TransportKind::pcie_peer:
    case TransportKind::host_memory:
      return edge.kind == EdgeKind::pcie || edge.kind == EdgeKind::socket_link;
  }
  return false;
}

DirectedEdge directed(const Topology& t, std::uint32_t edge, std::uint32_t from) {
  return 2 * edge + (t.edges[edge].a == from ? 0U : 1U);
}

const Edge& edge_of(const Topology& t, DirectedEdge e) {
  return t.edges[e / 2];
}

// Fewest edges first, then in the order of the graph; GPUs pass nothing on for others. Empty when
// there is no way.
std::vector<DirectedEdge> shortest_path(const Topology& t,
                                        const Adjacency& near,
                                        std::uint32_t from,
                                        std::uint32_t to,
                                        TransportKind kind) {
  constexpr std::uint32_t unseen = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> through(t.vertices.size(), unseen);  // directed edge that led there
  std::vector<std::uint32_t> queue{from};
  for (std::size_t head = 0; head < queue.size() && through[to] == unseen; ++head) {
    const std::uint32_t at = queue[head];
    if (at != from && t.vertices[at].kind == VertexKind::gpu) continue;
    for (const Neighbour& next : near[at]) {
      if (next.vertex == from || through[next.vertex] != unseen) continue;
      if (!usable(t.edges[next.edge], kind)) continue;
      through[next.vertex] = directed(t, next.edge, at);
      queue.push_back(next.vertex);
    }
  }
  std::vector<DirectedEdge> path;
  if (through[to] == unseen) return path;
  for (std::uint32_t at = to; at != from;) {
    const DirectedEdge e = through[at];
    path.push_back(e);
    at = e % 2 == 0 ? edge_of(t, e).a : edge_of(t, e).b;
  }
  std::ranges::reverse(path);
  return path;
}

// The way from a GPU to its staging buffer in host memory.
std::optional<std::uint32_t> staging_edge(const Topology& t,
                                          const Adjacency& near,
                                          std::uint32_t gpu) {
  for (const Neighbour& next : near[gpu]) {
    if (t.edges[next.edge].kind == EdgeKind::staging) return next.edge;
  }
  return std::nullopt;
}

Transport finished(const Topology& t, TransportKind kind, std::vector<DirectedEdge> path) {
  Transport out{kind, std::move(path), std::numeric_limits<double>::max(), 0};
  for (const DirectedEdge e : out.path) {
    out.GBps = std::min(out.GBps, edge_of(t, e).GBps);
    out.latency_us += edge_of(t, e).latency_us;
  }
  return out;
}

// Whether NCCL takes peers' own way for a path between two of a group's cards.
bool within_reach(const Topology& t, const std::vector<DirectedEdge>& path, std::uint32_t gpus) {
  if (!t.peer_to_peer) return false;
  // Two cards alone may go anywhere.
  if (t.reach == PeerReach::anywhere || (t.reach == PeerReach::pcie_switch && gpus <= 2)) {
    return true;
  }
  int processors = 0;  // host bridges and sockets on the way
  for (const DirectedEdge e : path) {
    const std::uint32_t head = e % 2 == 0 ? edge_of(t, e).b : edge_of(t, e).a;
    const VertexKind kind = t.vertices[head].kind;
    if (kind == VertexKind::host_bridge || kind == VertexKind::socket) ++processors;
  }
  return processors <= (t.reach == PeerReach::host_bridge ? 1 : 0);
}

Transport choose(const Topology& t,
                 const Adjacency& near,
                 std::uint32_t from,
                 std::uint32_t to,
                 std::uint32_t gpus) {
  if (auto path = shortest_path(t, near, from, to, TransportKind::nvlink); !path.empty()) {
    return finished(t, TransportKind::nvlink, std::move(path));
  }
  auto path = shortest_path(t, near, from, to, TransportKind::pcie_peer);
  if (path.empty()) throw std::logic_error("two GPUs of a machine are not connected");
  if (within_reach(t, path, gpus)) return finished(t, TransportKind::pcie_peer, std::move(path));
  // Through host memory the same wires are crossed, and both GPUs' staging on top.
  if (const auto out = staging_edge(t, near, from)) path.push_back(directed(t, *out, from));
  if (const auto in = staging_edge(t, near, to)) path.push_back(directed(t, *in, to) ^ 1U);
  return finished(t, TransportKind::host_memory, std::move(path));
}

// --- rings
// ----------------------------------------------------------------------------------------

// Flows between GPUs that run at once.
class Flows {
 public:
  explicit Flows(const Transports& transports) : transports_(transports) {}

  void add(std::uint32_t from, std::uint32_t to) {
    for (const DirectedEdge e : transports_.between(from, to).path) links_.push_back(LinkId{e});
    begin_.push_back(static_cast<std::uint32_t>(links_.size()));
  }

  // Max-min fair shares in GB/s, in the order of add().
  [[nodiscard]] std::vector<double> shares() const {
    const Topology& t = transports_.topology();
    std::vector<double> capacity(2 * t.edges.size());
    for (std::size_t e = 0; e < t.edges.size(); ++e) {
      capacity[2 * e] = capacity[2 * e + 1] = t.edges[e].GBps;
    }
    const std::size_t flows = begin_.size() - 1;
    std::vector<std::uint32_t> active(flows);
    std::iota(active.begin(), active.end(), 0U);
    const std::vector<double> limit(flows, 1e9);
    std::vector<double> share(flows);
    MaxMinScratch scratch;
    max_min_fair({begin_, links_}, capacity, active, limit, share, scratch);
    return share;
  }

 private:
  const Transports& transports_;
  std::vector<std::uint32_t> begin_{0};
  std::vector<LinkId> links_;
};

// Sum of the rings' rates: each ring is as fast as its slowest flow.
double shared_rate(const Transports& transports, std::span<const std::uint32_t> order) {
  Flows flows(transports);
  const std::size_t n = order.size();
  for (std::size_t i = 0; i < n; ++i) flows.add(order[i], order[(i + 1) % n]);
  bool staged = false;
  for (std::size_t i = 0; i < n; ++i) {
    staged = staged ||
             transports.between(order[i], order[(i + 1) % n]).kind == TransportKind::host_memory;
  }
  // Two GPUs make one ring whichever way round. Through host memory all channels go the same way
  // round (NCCL repeats its one ring): where only some of the ring is staged, the other direction
  // of those cards' buffers stays unused.
  if (n > 2 && !staged) {
    for (std::size_t i = 0; i < n; ++i) flows.add(order[(i + 1) % n], order[i]);
  }
  const std::vector<double> share = flows.shares();
  double total = 0;
  for (auto ring = share.begin(); ring != share.end(); ring += static_cast<std::ptrdiff_t>(n)) {
    total += *std::min_element(ring, ring + static_cast<std::ptrdiff_t>(n));
  }
  return total;
}

// Packs rings into the NVLinks that join GPUs directly (a hybrid mesh, all-to-all, pairs): each
// ring takes one link of every edge on its way and carries in both directions. A search with a
// bounded number of steps: the first complete packing wins, else the best that was met.
class RingPacking {
 public:
  RingPacking(const Topology& t, std::uint32_t gpus) : n_(gpus), links_(gpus * gpus, 0) {
    for (const Edge& e : t.edges) {
      if (e.kind != EdgeKind::nvlink || e.a >= gpus || e.b >= gpus) continue;
      links_[e.a * n_ + e.b] += e.lanes;
      links_[e.b * n_ + e.a] += e.lanes;
      lane_GBps_ = std::max(lane_GBps_, e.GBps / e.lanes);
      latency_us_ = std::max(latency_us_, e.latency_us);
    }
    wanted_ = std::numeric_limits<int>::max();
    for (std::uint32_t a = 0; a < n_; ++a) {
      int degree = 0;
      for (std::uint32_t b = 0; b < n_; ++b) degree += links_[a * n_ + b];
      wanted_ = std::min(wanted_, n_ == 2 ? degree : degree / 2);
    }
  }

  // GB/s of all rings together; 0 when NVLink alone makes none.
  double rate() {
    if (wanted_ == 0) return 0;
    if (n_ == 2) return links_[1] * lane_GBps_;
    order_.assign(1, 0);
    search(0);
    return 2 * best_ * lane_GBps_;
  }

  // GB/s through the tree that NVLink alone spans: one link's rate, or 0.
  [[nodiscard]] double tree_rate() const {
    std::vector<std::uint32_t> reached{0};
    std::vector<bool> seen(n_, false);
    seen[0] = true;
    for (std::size_t head = 0; head < reached.size(); ++head) {
      for (std::uint32_t b = 0; b < n_; ++b) {
        if (seen[b] || links_[reached[head] * n_ + b] == 0) continue;
        seen[b] = true;
        reached.push_back(b);
      }
    }
    return reached.size() == n_ ? lane_GBps_ : 0;
  }
  [[nodiscard]] double latency_us() const { return latency_us_; }
  [[nodiscard]] std::vector<std::uint32_t> order() const { return best_order_; }

 private:
  static constexpr int most_steps = 200000;

  // Extends the ring in order_; `made` rings are complete. True when the search is over.
  bool search(int made) {
    if (++steps_ > most_steps) return true;
    if (order_.size() == n_) return close(made);
    const std::uint32_t at = order_.back();
    // The widest edges first: they have links to spare for the other rings.
    std::vector<std::uint32_t> next;
    for (std::uint32_t b = 1; b < n_; ++b) {
      if (links_[at * n_ + b] > 0 && std::ranges::find(order_, b) == order_.end())
        next.push_back(b);
    }
    std::ranges::stable_sort(next, [&](std::uint32_t x, std::uint32_t y) {
      return links_[at * n_ + x] > links_[at * n_ + y];
    });
    for (const std::uint32_t b : next) {
      take(at, b, 1);
      order_.push_back(b);
      const bool over = search(made);
      order_.pop_back();
      take(at, b, -1);
      if (over) return true;
    }
    return false;
  }

  bool close(int made) {
    const std::uint32_t last = order_.back();
    if (links_[last * n_] == 0) return false;
    take(last, 0, 1);
    if (made + 1 > best_) {
      best_ = made + 1;
      best_order_ = order_;
    }
    bool over = best_ >= wanted_;
    if (!over) {
      std::vector<std::uint32_t> ring(1, 0);
      std::swap(ring, order_);
      over = search(made + 1);
      std::swap(ring, order_);
    }
    take(last, 0, -1);
    return over;
  }

  void take(std::uint32_t a, std::uint32_t b, int count) {
    links_[a * n_ + b] -= count;
    links_[b * n_ + a] -= count;
  }

  std::uint32_t n_;
  std::vector<int> links_;
  double lane_GBps_ = 0;
  double latency_us_ = 0;
  int wanted_ = 0;
  int best_ = 0;
  int steps_ = 0;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> best_order_;
};

double total_latency(const Transports& transports, std::span<const std::uint32_t> order) {
  double sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    sum += transports.between(order[i], order[(i + 1) % order.size()]).latency_us;
  }
  return sum;
}

// From GPU 0 always to the GPU with the fastest transport that is not yet in the ring.
std::vector<std::uint32_t> nearest_order(const Transports& transports) {
  const std::uint32_t n = transports.gpus();
  std::vector<std::uint32_t> order{0};
  std::vector<bool> used(n, false);
  used[0] = true;
  while (order.size() < n) {
    std::uint32_t best = n;
    for (std::uint32_t b = 0; b < n; ++b) {
      if (used[b]) continue;
      const Transport& t = transports.between(order.back(), b);
      if (best == n || t.GBps > transports.between(order.back(), best).GBps ||
          (t.GBps == transports.between(order.back(), best).GBps &&
           t.latency_us < transports.between(order.back(), best).latency_us)) {
        best = b;
      }
    }
    used[best] = true;
    order.push_back(best);
  }
  return order;
}

}  // namespace

Transports::Transports(const Topology& topology, std::uint32_t gpus)
    : topology_(topology), gpus_(gpus), table_(gpus * gpus) {
  const Adjacency near = neighbours(topology);
  for (std::uint32_t a = 0; a < gpus; ++a) {
    for (std::uint32_t b = 0; b < gpus; ++b) {
      if (a != b) table_[a * gpus + b] = choose(topology, near, a, b, gpus);
    }
  }
}

RingRate ring_rate(const Transports& transports, std::span<const std::uint32_t> order) {
  RingRate out;
  out.order.assign(order.begin(), order.end());
  out.GBps = shared_rate(transports, order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Transport& t = transports.between(order[i], order[(i + 1) % order.size()]);
    out.latency_us = std::max(out.latency_us, t.latency_us);
    out.slowest = std::max(out.slowest, t.kind);
  }
  return out;
}

double all_to_all_rate(const Topology& topology, std::uint32_t gpus) {
  const Transports transports(topology, gpus);
  Flows flows(transports);
  for (std::uint32_t a = 0; a < gpus; ++a) {
    for (std::uint32_t b = 0; b < gpus; ++b) {
      if (a != b) flows.add(a, b);
    }
  }
  const std::vector<double> share = flows.shares();
  return *std::ranges::min_element(share) * (gpus - 1);
}

RingRate best_rings(const Topology& topology, std::uint32_t gpus) {
  const Transports transports(topology, gpus);
  std::vector<std::uint32_t> order(gpus);
  std::iota(order.begin(), order.end(), 0U);
  RingRate best = ring_rate(transports, order);
  if (gpus > 2) {
    RingRate near = ring_rate(transports, nearest_order(transports));
    // Of two as fast the one with the shorter ways: it leaves more of the machine free.
    const bool tie = near.GBps >= best.GBps * (1 - 1e-9);
    if (near.GBps > best.GBps * (1 + 1e-9) ||
        (tie && total_latency(transports, near.order) < total_latency(transports, best.order))) {
      best = std::move(near);
    }
  }
  RingPacking packing(topology, gpus);
  const double packed = packing.rate();
  const double n = gpus;
  // A tree carries the sum up and the result down: each link twice the message over the two
  // directions, so its bus bandwidth is 2 (n - 1) / n of the link's rate.
  const double tree = packed > 0 || gpus == 2 ? 0 : packing.tree_rate() * 2 * (n - 1) / n;
  const double nvlink = std::max(packed, tree);
  if (nvlink > best.GBps) {
    if (packed > 0 && gpus > 2) order = packing.order();
    best = {nvlink, packing.latency_us(), TransportKind::nvlink, order};
  }
  return best;
}

}  // namespace stepsight
