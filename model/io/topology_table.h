// [cluster.topology] of a scenario: a machine and the network above it, edge by edge, as a person
// writes them down (scenarios/README.md).
//
//   [cluster.topology]
//   machines_per_leaf = 16
//   edges = [
//     { from = "gpu0-3", to = "switch0" },                      # slots as the link's name has them
//     { from = "switch0", to = "socket0", wire = "pcie4-x16" },
//     { from = "gpu0", to = "gpu1", wire = "nvlink3-nv4" },
//     { from = "nic0", to = "switch0" },
//     { from = "nic0", to = "leaf0", wire = "200G-ib" },
//     { from = "leaf0", to = "spine0-1", oversubscription = 2 },
//   ]
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/io/table.h"
#include "model/link_class.h"
#include "model/topology.h"

namespace stepsight {

// What Cluster::topo says when the scenario has the table.
inline constexpr std::string_view topology_table_name = "[cluster.topology]";

// Keys of the table and of its edges that scenarios/README.md explains; `from` and `to` aside.
inline constexpr std::array<std::string_view, 7> topology_keys{
    "edges", "machines_per_leaf", "placement", "wire", "GBps", "latency_us", "oversubscription"};

struct TableVertex {
  VertexKind kind = VertexKind::gpu;
  std::uint32_t number = 0;

  friend constexpr bool operator==(const TableVertex&, const TableVertex&) = default;
};

// One line of the table with its ranges written out.
struct TableEdge {
  TableVertex a;  // the lower of the two: GPU, adapter, switch, bridge, socket, leaf, spine
  TableVertex b;
  std::optional<LinkClass> wire;
  std::optional<double> GBps;
  std::optional<double> latency_us;
  std::optional<double> oversubscription;
};

struct TopologyTable {
  Position at;
  std::uint32_t gpus = 0;
  std::int64_t machines_per_leaf = 0;
  bool packed = true;
  std::vector<TableEdge> edges;
};

// Notes every mistake with its place: unknown keys and names, edges that no wire can be, edges
// given twice, GPUs and adapters that lead nowhere.
TopologyTable read_topology_table(Table& table);

// The graph. `link` says what the table does not: generation, lanes and P2P.
Topology table_topology(const TopologyTable& table, const LinkClass& link);

}  // namespace stepsight
