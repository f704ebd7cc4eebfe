#include "model/io/topology_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "model/io/log_text.h"
#include "model/link_wires.h"

namespace stepsight {

namespace {

constexpr std::uint32_t most_of_a_kind = 256;
constexpr std::size_t most_edges = 4096;

struct KindName {
  VertexKind kind;
  std::string_view name;
};

// In the order from below to above that an edge's ends are put in.
constexpr std::array<KindName, 8> kind_names{{
    {VertexKind::gpu, "gpu"},
    {VertexKind::nic, "nic"},
    {VertexKind::nvswitch, "nvswitch"},
    {VertexKind::pcie_switch, "switch"},
    {VertexKind::host_bridge, "bridge"},
    {VertexKind::socket, "socket"},
    {VertexKind::leaf, "leaf"},
    {VertexKind::spine, "spine"},
}};

std::size_t rank_of(VertexKind kind) {
  return static_cast<std::size_t>(std::ranges::find(kind_names, kind, &KindName::kind) -
                                  kind_names.begin());
}

std::string name_of(const TableVertex& v) {
  return fmt::format("{}{}", kind_names[rank_of(v.kind)].name, v.number);
}

// What an edge between two kinds is; the lower kind first. Nothing when no wire joins them.
std::optional<EdgeKind> edge_kind(VertexKind a, VertexKind b) {
  using K = VertexKind;
  const bool card = a == K::gpu || a == K::nic;
  const bool above_card = b == K::pcie_switch || b == K::host_bridge || b == K::socket;
  if (card && above_card) return EdgeKind::pcie;
  if (a == K::pcie_switch && above_card) return EdgeKind::pcie;
  if (a == K::gpu && (b == K::gpu || b == K::nvswitch)) return EdgeKind::nvlink;
  if ((a == K::host_bridge || a == K::socket) && b == K::socket) return EdgeKind::socket_link;
  if ((a == K::nic && b == K::leaf) || (a == K::leaf && b == K::spine)) return EdgeKind::network;
  return std::nullopt;
}

// --- names and ranges
// -----------------------------------------------------------------------------

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && !text.empty() && value < most_of_a_kind ? std::optional(value) : std::nullopt;
}

// "gpu0-3": four vertices; "leaf0": one. Empty when it is no name.
std::vector<TableVertex> vertices_of(std::string_view text) {
  const std::size_t digits = text.find_first_of("0123456789");
  if (digits == std::string_view::npos) return {};
  const auto kind = std::ranges::find(kind_names, text.substr(0, digits), &KindName::name);
  if (kind == kind_names.end()) return {};
  std::string_view numbers = text.substr(digits);
  const std::size_t dash = numbers.find('-');
  const auto first = number_in(numbers.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number_in(numbers.substr(dash + 1));
  if (!first || !last || *last < *first) return {};
  std::vector<TableVertex> out;
  for (std::uint32_t n = *first; n <= *last; ++n) out.push_back({kind->kind, n});
  return out;
}

std::vector<TableVertex> read_vertices(Table& row, std::string_view key) {
  const std::string text = row.require_string(key);
  if (text.empty()) return {};
  std::vector<TableVertex> out = vertices_of(text);
  if (out.empty()) {
    row.mistake(key,
                fmt::format("'{}' must be gpu, nic, switch, bridge, socket, nvswitch, leaf or "
                            "spine with a number below {} or a range of them, as in \"gpu0-3\"; "
                            "got \"{}\"",
                            key,
                            most_of_a_kind,
                            text.substr(0, 40)));
  }
  return out;
}

using Pair = std::pair<TableVertex, TableVertex>;

// A range to one vertex: each of them. Two ranges: block by block ("gpu0-7" to "switch0-1": four to
// each), but every leaf to every spine, and a range to itself: every pair of it.
std::vector<Pair> pairs_of(const std::vector<TableVertex>& from,
                           const std::vector<TableVertex>& to) {
  std::vector<Pair> out;
  if (from == to && from.size() > 1) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (std::size_t j = i + 1; j < to.size(); ++j) out.emplace_back(from[i], to[j]);
    }
    return out;
  }
  const bool to_spines =
      from.front().kind == VertexKind::leaf && to.front().kind == VertexKind::spine;
  if (to_spines) {
    for (const TableVertex& a : from) {
      for (const TableVertex& b : to) out.emplace_back(a, b);
    }
    return out;
  }
  const std::size_t most = std::max(from.size(), to.size());
  if (most % from.size() != 0 || most % to.size() != 0) return {};
  for (std::size_t i = 0; i < most; ++i) {
    out.emplace_back(from[i / (most / from.size())], to[i / (most / to.size())]);
  }
  return out;
}

// --- one row
// ---------------------------------------------------------------------------------------

// Words of a link class that fit the edge: "pcie4-x8", "nvlink3-nv4" (or "nv4"), "200G-ib".
std::optional<LinkClass> read_wire(Table& row, EdgeKind kind) {
  const auto text = row.optional_string("wire");
  if (!text) return std::nullopt;
  std::string_view example;
  std::optional<LinkClass> wire = parse_link_class(*text);
  if (!wire) wire = parse_link_class(*text + "-bridge");
  bool fits = wire.has_value() && wire->busbw_GBps == 0;
  switch (kind) {
    case EdgeKind::pcie:
    case EdgeKind::staging:
    case EdgeKind::socket_link:
      example = "pcie4-x16";
      fits =
          fits && wire->nvlink_shape == NvlinkShape::none && wire->fabric.kind == NetworkKind::none;
      break;
    case EdgeKind::nvlink:
      example = "nvlink3-nv4";
      fits = fits && wire->nvlink_generation > 0 && wire->fabric.kind == NetworkKind::none;
      break;
    case EdgeKind::network:
      example = "200G-ib";
      fits = fits && wire->fabric.kind != NetworkKind::none;
      break;
  }
  if (!fits) {
    row.mistake("wire",
                fmt::format("'wire' of such an edge must be as in \"{}\", got \"{}\"",
                            example,
                            text->substr(0, 40)));
    return std::nullopt;
  }
  return wire;
}

struct Reader {
  Table& table;
  TopologyTable out;
  std::set<std::pair<std::string, std::string>> seen;
};

void add_edges(Reader& r, Table& row, const std::vector<Pair>& pairs, TableEdge edge) {
  for (const auto& [one, other] : pairs) {
    edge.a = one;
    edge.b = other;
    if (rank_of(other.kind) < rank_of(one.kind)) std::swap(edge.a, edge.b);
    const std::string a = name_of(edge.a);
    const std::string b = name_of(edge.b);
    if (a == b) {
      row.mistake("to", fmt::format("an edge from {} to itself", a));
      return;
    }
    if (!r.seen.insert({std::min(a, b), std::max(a, b)}).second) {
      row.mistake("from", fmt::format("the edge between {} and {} is given twice", a, b));
      return;
    }
    if (r.out.edges.size() >= most_edges) {
      row.mistake("from", fmt::format("more than {} edges", most_edges));
      return;
    }
    r.out.edges.push_back(edge);
  }
}

void read_row(Reader& r, Table& row) {
  const std::vector<TableVertex> from = read_vertices(row, "from");
  const std::vector<TableVertex> to = read_vertices(row, "to");
  TableEdge edge;
  edge.GBps = row.optional_number("GBps", 1e-6, 1e6);
  edge.latency_us = row.optional_number("latency_us", 0, 1e6);
  edge.oversubscription = row.optional_number("oversubscription", 1, 1e4);
  std::optional<EdgeKind> kind;
  if (!from.empty() && !to.empty()) {
    VertexKind a = from.front().kind;
    VertexKind b = to.front().kind;
    const bool downward = rank_of(b) < rank_of(a);
    if (downward) std::swap(a, b);
    kind = edge_kind(a, b);
    if (!kind) {
      row.mistake(
          "to", fmt::format("no wire joins {} and {}", name_of(from.front()), name_of(to.front())));
    }
    const bool uplink = a == VertexKind::leaf && b == VertexKind::spine;
    if (edge.oversubscription && !uplink) {
      row.mistake("oversubscription", "'oversubscription' belongs to edges from leaves to spines");
    }
    if (kind) edge.wire = read_wire(row, *kind);
    const bool bare = kind == EdgeKind::network && !edge.wire && !edge.GBps &&
                      !edge.oversubscription && row.value("wire") == nullptr;
    if (bare) {
      row.mistake("from",
                  uplink ? "an uplink needs 'GBps', 'wire' or 'oversubscription'"
                         : "an adapter's port needs 'wire', as in \"200G-ib\", or 'GBps'");
    }
    if (edge.oversubscription && (edge.wire || edge.GBps)) {
      row.mistake("oversubscription", "'oversubscription' and 'GBps' or 'wire' exclude each other");
    }
    std::vector<Pair> pairs =
        downward && b == VertexKind::spine ? pairs_of(to, from) : pairs_of(from, to);
    if (pairs.empty()) {
      row.mistake("to",
                  fmt::format("{} cannot be shared out evenly to {}", from.size(), to.size()));
    } else if (kind) {
      add_edges(r, row, pairs, edge);
    }
  }
  row.value("wire");
  row.finish();
}

// --- rules over the whole
// -------------------------------------------------------------------------

bool has_edge(const TopologyTable& t, const TableVertex& v, std::initializer_list<VertexKind> to) {
  return std::ranges::any_of(t.edges, [&](const TableEdge& e) {
    return (e.a == v && std::ranges::find(to, e.b.kind) != to.end()) ||
           (e.b == v && std::ranges::find(to, e.a.kind) != to.end());
  });
}

std::set<std::uint32_t> numbers_of(const TopologyTable& t, VertexKind kind) {
  std::set<std::uint32_t> out;
  for (const TableEdge& e : t.edges) {
    if (e.a.kind == kind) out.insert(e.a.number);
    if (e.b.kind == kind) out.insert(e.b.number);
  }
  return out;
}

// Which switches, bridges and sockets hang together: a name for each of their groups.
class Trees {
 public:
  explicit Trees(const TopologyTable& t) {
    for (const TableEdge& e : t.edges) {
      if (!inside(e) || is_card(e.a)) continue;
      const std::string a = root(name_of(e.a));
      above_[a] = root(name_of(e.b));
    }
    for (const TableEdge& e : t.edges) {
      if (inside(e) && is_card(e.a)) cards_[name_of(e.a)].insert(root(name_of(e.b)));
    }
  }

  // Cards pass nothing on for others: two reach each other when they hang on one group.
  [[nodiscard]] bool joined(const TableVertex& a, const TableVertex& b) const {
    const auto first = cards_.find(name_of(a));
    const auto second = cards_.find(name_of(b));
    if (first == cards_.end() || second == cards_.end()) return false;
    return std::ranges::any_of(first->second,
                               [&](const std::string& x) { return second->second.contains(x); });
  }

 private:
  static bool inside(const TableEdge& e) {
    const EdgeKind kind = *edge_kind(e.a.kind, e.b.kind);
    return kind == EdgeKind::pcie || kind == EdgeKind::socket_link;
  }
  static bool is_card(const TableVertex& v) {
    return v.kind == VertexKind::gpu || v.kind == VertexKind::nic;
  }
  std::string root(std::string at) const {
    for (auto up = above_.find(at); up != above_.end() && up->second != at; up = above_.find(at)) {
      at = up->second;
    }
    return at;
  }

  std::map<std::string, std::string> above_;
  std::map<std::string, std::set<std::string>> cards_;
};

void check_switch(Reader& r) {
  const TableEdge* first = nullptr;
  for (const TableEdge& e : r.out.edges) {
    if (e.b.kind != VertexKind::nvswitch) continue;
    if (first == nullptr) first = &e;
    const bool same = e.b == first->b && e.GBps == first->GBps &&
                      e.wire.has_value() == first->wire.has_value() &&
                      (!e.wire || (e.wire->nvlinks == first->wire->nvlinks &&
                                   e.wire->nvlink_generation == first->wire->nvlink_generation));
    if (same) continue;
    r.table.mistake("edges", "all GPUs must hang on one nvswitch by the same wire");
    return;
  }
}

void check_gpus(Reader& r, const Trees& trees) {
  const std::set<std::uint32_t> gpus = numbers_of(r.out, VertexKind::gpu);
  if (gpus.empty()) {
    r.table.mistake("edges", "the edges name no GPU ('gpu0', ...)");
    return;
  }
  r.out.gpus = static_cast<std::uint32_t>(gpus.size());
  if (*gpus.rbegin() + 1 != gpus.size()) {
    r.table.mistake("edges", "GPUs must be numbered gpu0, gpu1, ... without a gap");
    return;
  }
  const bool at_switch = !numbers_of(r.out, VertexKind::nvswitch).empty();
  for (std::uint32_t i = 0; i < r.out.gpus; ++i) {
    const TableVertex a{VertexKind::gpu, i};
    if (at_switch && !has_edge(r.out, a, {VertexKind::nvswitch})) {
      r.table.mistake("edges", fmt::format("gpu{} is not at the nvswitch that others are at", i));
    }
    for (std::uint32_t j = 0; j < i && !at_switch; ++j) {
      const TableVertex b{VertexKind::gpu, j};
      const std::string x = name_of(a);
      const std::string y = name_of(b);
      if (trees.joined(a, b) || r.seen.contains({std::min(x, y), std::max(x, y)})) continue;
      r.table.mistake("edges",
                      fmt::format("{} has no way to {}: give both an edge to a switch, bridge or "
                                  "socket, and join those",
                                  x,
                                  y));
      break;
    }
  }
}

void check_network(Reader& r, const Trees& trees) {
  for (const std::uint32_t n : numbers_of(r.out, VertexKind::nic)) {
    const TableVertex nic{VertexKind::nic, n};
    bool reached = false;
    for (std::uint32_t g = 0; g < r.out.gpus; ++g) {
      reached = reached || trees.joined({VertexKind::gpu, g}, nic);
    }
    if (!reached) r.table.mistake("edges", fmt::format("no GPU has a way to nic{}", n));
    if (!has_edge(r.out, nic, {VertexKind::leaf})) {
      r.table.mistake("edges", fmt::format("nic{} is plugged into no leaf", n));
    }
  }
  for (const std::uint32_t n : numbers_of(r.out, VertexKind::leaf)) {
    if (!has_edge(r.out, {VertexKind::leaf, n}, {VertexKind::nic})) {
      r.table.mistake("edges", fmt::format("leaf{} has no nic", n));
    }
  }
  const bool spines = !numbers_of(r.out, VertexKind::spine).empty();
  if (spines && r.out.machines_per_leaf == 0) {
    r.table.mistake("machines_per_leaf",
                    "with spines, 'machines_per_leaf' says how many machines share the leaves");
  }
}

// --- the graph
// ------------------------------------------------------------------------------------

// Generation, lanes and NVLinks of one edge: its own wire's, else those of the link's name.
struct Wires {
  const TableEdge& edge;
  const LinkClass& link;

  [[nodiscard]] const LinkClass& pcie() const { return edge.wire ? *edge.wire : link; }
  [[nodiscard]] int nvlink_generation() const {
    if (edge.wire) return edge.wire->nvlink_generation;
    return link.nvlink_generation > 0 ? link.nvlink_generation : 3;
  }
  [[nodiscard]] int nvlinks(bool at_switch) const {
    if (edge.wire && edge.wire->nvlinks > 0) return edge.wire->nvlinks;
    if (!edge.wire && link.nvlinks > 0) return link.nvlinks;
    const auto g = static_cast<std::size_t>(nvlink_generation());
    return at_switch ? nvlinks_of_gpu[g] : nvlinks_of_bridge[g];
  }
};

struct Figures {
  double GBps = 0;
  double latency_us = 0;
  std::int32_t lanes = 1;
};

Figures pcie_figures(const Wires& w) {
  const bool card = w.edge.a.kind == VertexKind::gpu || w.edge.a.kind == VertexKind::nic;
  // The uplink of a switch has all its lanes, however few the cards' slots have.
  const int lanes = w.edge.wire || card ? w.pcie().pcie_lanes : 16;
  return {pcie_edge_GBps(w.pcie().pcie_generation, lanes), card ? pcie_hop_us / 2 : pcie_switch_us};
}

Figures socket_figures(const Wires& w, std::size_t sockets) {
  const int generation = w.pcie().pcie_generation;
  if (w.edge.a.kind == VertexKind::host_bridge) {
    return {4 * pcie_edge_GBps(generation, 16), bridge_us};
  }
  const double numa = sockets > 2 ? numa_over_socket : 1;
  const bool peers_cross = w.link.peer_to_peer && w.link.reach == PeerReach::anywhere;
  return {socket_edge_GBps(generation, peers_cross) * numa, socket_us};
}

Figures nvlink_figures(const Wires& w) {
  const bool at_switch = w.edge.b.kind == VertexKind::nvswitch;
  const int links = w.nvlinks(at_switch);
  return {nvlink_edge_GBps(w.nvlink_generation(), links, at_switch),
          at_switch ? nvlink_hop_us / 2 : nvlink_hop_us,
          links};
}

Figures network_figures(const Wires& w) {
  constexpr double switch_us = 0.5;
  const bool port = w.edge.a.kind == VertexKind::nic;
  const Fabric fabric = w.edge.wire ? w.edge.wire->fabric : Fabric{NetworkKind::infiniband};
  const NetworkFacts& facts = networks[static_cast<std::size_t>(fabric.kind)];
  return {adapter_GBps(fabric.kind, fabric.nic_GBps, fabric.gpudirect) * std::max(fabric.nics, 1.0),
          port ? facts.hop_us / 2 : switch_us};
}

class Builder {
 public:
  Builder(const TopologyTable& table, const LinkClass& link) : table_(table), link_(link) {
    t_.gpus = table.gpus;
    t_.peer_to_peer = link.peer_to_peer;
    t_.reach = link.reach;
    t_.machines_per_leaf = table.machines_per_leaf;
    t_.packed = table.packed;
    for (std::uint32_t g = 0; g < table.gpus; ++g) vertex({VertexKind::gpu, g});
  }

  Topology build() {
    for (const TableEdge& e : table_.edges) {
      if (!e.oversubscription) add(e);
    }
    // What leaves carry down is known by now.
    for (const TableEdge& e : table_.edges) {
      if (e.oversubscription) add_uplink(e);
    }
    t_.in_switch_sums = at_switch_ && t_.nvlink_generation >= 4;
    return std::move(t_);
  }

 private:
  std::uint32_t vertex(const TableVertex& v) {
    const auto [known, is_new] = vertices_.try_emplace(name_of(v), 0);
    if (is_new) known->second = add_vertex(t_, v.kind);
    return known->second;
  }

  void add(const TableEdge& e) {
    const EdgeKind kind = *edge_kind(e.a.kind, e.b.kind);
    const Wires wires{e, link_};
    Figures f;
    switch (kind) {
      case EdgeKind::pcie:
      case EdgeKind::staging:
        f = pcie_figures(wires);
        break;
      case EdgeKind::socket_link:
        f = socket_figures(wires, numbers_of(table_, VertexKind::socket).size());
        break;
      case EdgeKind::nvlink:
        f = nvlink_figures(wires);
        t_.nvlink_generation = std::max(t_.nvlink_generation, wires.nvlink_generation());
        at_switch_ = at_switch_ || e.b.kind == VertexKind::nvswitch;
        break;
      case EdgeKind::network:
        f = network_figures(wires);
        break;
    }
    if (e.GBps) f.GBps = *e.GBps;
    if (e.latency_us) f.latency_us = *e.latency_us;
    const std::uint32_t a = vertex(e.a);
    add_edge(t_, a, vertex(e.b), kind, f.GBps, f.latency_us, f.lanes);
    if (kind == EdgeKind::network && e.a.kind == VertexKind::nic) down_[name_of(e.b)] += f.GBps;
    if (kind == EdgeKind::pcie && e.a.kind == VertexKind::gpu) {
      const std::uint32_t buffer = add_vertex(t_, VertexKind::staging);
      const double staging = staging_edge_GBps(wires.pcie().pcie_generation, f.GBps);
      add_edge(t_, a, buffer, EdgeKind::staging, staging, (staging_hop_us - pcie_hop_us) / 2);
    }
  }

  void add_uplink(const TableEdge& e) {
    const auto spines =
        static_cast<double>(std::ranges::count_if(table_.edges, [&](const TableEdge& other) {
          return other.a == e.a && other.oversubscription;
        }));
    const double all = down_[name_of(e.a)] * static_cast<double>(table_.machines_per_leaf);
    TableEdge given = e;
    given.GBps = all / *e.oversubscription / spines;
    given.oversubscription.reset();
    add(given);
  }

  const TopologyTable& table_;
  const LinkClass& link_;
  Topology t_;
  bool at_switch_ = false;
  std::map<std::string, std::uint32_t> vertices_;
  std::map<std::string, double> down_;  // GB/s from one machine to a leaf
};

}  // namespace

TopologyTable read_topology_table(Table& table) {
  constexpr std::array<std::string_view, 2> placements{"packed", "scattered"};
  Reader r{table, {}, {}};
  r.out.at = table.position();
  r.out.machines_per_leaf = table.optional_int("machines_per_leaf", 1, 1000000).value_or(0);
  r.out.packed = table.optional_choice("placement", placements).value_or(0) == 0;
  std::vector<Table> rows = table.array_of_tables("edges");
  if (rows.empty()) table.mistake("edges", "'edges' must be an array of { from, to, ... }");
  for (Table& row : rows) read_row(r, row);
  if (!r.out.edges.empty()) {
    const Trees trees(r.out);
    check_switch(r);
    check_gpus(r, trees);
    check_network(r, trees);
  }
  table.finish();
  return std::move(r.out);
}

Topology table_topology(const TopologyTable& table, const LinkClass& link) {
  return Builder(table, link).build();
}

}  // namespace stepsight
