#include "model/io/topology_table.h"

#include "model/io/scenario_file.h"
#include "model/io/topo_matrix.h"
#include "model/link_curve.h"
#include "model/topology_network.h"
#include "model/transport.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

Topology read(const std::string& text, const char* link = "pcie4-x16-p2p") {
  const Value root = parse_toml("t.toml", text);
  ErrorList errors("t.toml");
  Table table(root, errors);
  const TopologyTable read = read_topology_table(table);
  errors.throw_if_any();
  return table_topology(read, *parse_link_class(link));
}

std::string edges(const std::string& rows) {
  return "edges = [\n" + rows + "]\n";
}

std::string message(const std::string& text) {
  return message_of([&] { read(text); });
}

// Two switches with two cards each, on a socket of their own, bridges across.
const std::string two_sockets = edges(R"(
  { from = "gpu0-3", to = "switch0-1" },
  { from = "switch0-1", to = "bridge0-1" },
  { from = "bridge0-1", to = "socket0-1" },
  { from = "socket0", to = "socket1" },
  { from = "gpu0", to = "gpu2", wire = "nv4" },
  { from = "gpu1", to = "gpu3", wire = "nvlink3-nv4" },
)");

const std::string two_sockets_matrix =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tPIX\tNV4\tSYS\t0-7\t0\n"
    "GPU1\tPIX\t X \tSYS\tNV4\t0-7\t0\n"
    "GPU2\tNV4\tSYS\t X \tPIX\t8-15\t1\n"
    "GPU3\tSYS\tNV4\tPIX\t X \t8-15\t1\n";

const std::string scenario = R"([model]
name = "gpt2-124m"
[training]
batch = 4
[cluster]
gpu = "h200-sxm"
gpus = 16
nodes = 4
link = "pcie4-x16-p2p"
[cluster.topology]
machines_per_leaf = 2
edges = [
  { from = "gpu0-3", to = "switch0" },
  { from = "nic0", to = "switch0" },
  { from = "nic0", to = "leaf0", wire = "200G-ib" },
  { from = "leaf0", to = "spine0", oversubscription = 4 },
]
)";

}  // namespace

TEST_CASE("a table stands for the same machine as the text of topo -m") {
  for (const char* link : {"pcie4-x16-p2p", "pcie4-x16-nop2p", "pcie3-x8-nop2p"}) {
    INFO(link);
    const Topology table = read(two_sockets, link);
    const Topology matrix =
        topo_matrix_topology("topo.txt", two_sockets_matrix, *parse_link_class(link));
    REQUIRE(table.gpus == matrix.gpus);
    CHECK(table.nvlink_generation == matrix.nvlink_generation);
    CHECK(table.vertices.size() == matrix.vertices.size());
    CHECK(table.edges.size() == matrix.edges.size());
    const Transports one(table, 4);
    const Transports other(matrix, 4);
    for (std::uint32_t a = 0; a < 4; ++a) {
      for (std::uint32_t b = 0; b < 4; ++b) {
        if (a == b) continue;
        INFO(a << " to " << b);
        CHECK(one.between(a, b).kind == other.between(a, b).kind);
        CHECK(one.between(a, b).GBps == Approx(other.between(a, b).GBps));
        CHECK(one.between(a, b).latency_us == Approx(other.between(a, b).latency_us));
        CHECK(one.between(a, b).path.size() == other.between(a, b).path.size());
      }
    }
    CHECK(best_rings(table, 4).GBps == Approx(best_rings(matrix, 4).GBps));
    CHECK(best_rings(table, 4).order == best_rings(matrix, 4).order);
    CHECK(all_to_all_rate(table, 4) == Approx(all_to_all_rate(matrix, 4)));
  }
}

TEST_CASE("a table stands for the same machine as the name of a class") {
  const Topology table = read(edges(R"({ from = "gpu0-7", to = "nvswitch0", wire = "nvlink4" },)"));
  const Topology by_name = machine_topology(*parse_link_class("nvlink4-nvswitch"), 8);
  CHECK(table.in_switch_sums);
  CHECK(table.nvlink_generation == 4);
  CHECK(Transports(table, 8).between(0, 7).GBps ==
        Approx(Transports(by_name, 8).between(0, 7).GBps));
}

TEST_CASE(
    "ranges are shared out block by block, leaves to every spine, a range to itself in pairs") {
  const Topology t = read("machines_per_leaf = 4\n" + edges(R"(
    { from = "gpu0-3", to = "gpu0-3", wire = "nvlink3-nv4" },
    { from = "gpu0-3", to = "switch0-1" },
    { from = "switch0-1", to = "socket0" },
    { from = "nic0-1", to = "switch0-1" },
    { from = "nic0-1", to = "leaf0-1", GBps = 10 },
    { from = "leaf0-1", to = "spine0-2", GBps = 5 },
  )"));
  const auto count = [&](EdgeKind kind) {
    return std::ranges::count_if(t.edges, [&](const Edge& e) { return e.kind == kind; });
  };
  CHECK(count(EdgeKind::nvlink) == 6);
  CHECK(count(EdgeKind::pcie) == 4 + 2 + 2);
  CHECK(count(EdgeKind::network) == 2 + 6);
  CHECK(count(EdgeKind::staging) == 4);
}

TEST_CASE("an edge's own figures and wire count before those of the link") {
  const Topology t = read(edges(R"(
    { from = "gpu0", to = "socket0", GBps = 7, latency_us = 3 },
    { from = "socket0", to = "gpu1", wire = "pcie3-x4" },
  )"));
  CHECK(t.edges[0].GBps == Approx(7));
  CHECK(t.edges[0].latency_us == Approx(3));
  const Edge slot = *std::ranges::find_if(t.edges, [](const Edge& e) { return e.a == 1; });
  CHECK(slot.GBps == Approx(0.985 * 4 * 0.65));  // four lanes of generation 3, what peers get of it
  CHECK(best_rings(t, 2).GBps == Approx(slot.GBps));
}

TEST_CASE("oversubscription is what a leaf carries down over what it carries up") {
  // Four machines with two ports of 10 GB/s: 80 down; four to one: 20 up, over two spines.
  const Topology t = read("machines_per_leaf = 4\n" + edges(R"(
    { from = "leaf0", to = "spine0-1", oversubscription = 4 },
    { from = "gpu0", to = "switch0" },
    { from = "nic0-1", to = "switch0" },
    { from = "nic0-1", to = "leaf0", GBps = 10 },
  )"));
  double up = 0;
  for (const Edge& e : t.edges) {
    if (t.vertices[e.b].kind == VertexKind::spine) up += e.GBps;
  }
  CHECK(up == Approx(20));
}

TEST_CASE("what is wrong with a table is said with its place") {
  const auto says = [](const std::string& text, const char* what) {
    INFO(text);
    CHECK_THAT(message(text), match::ContainsSubstring(what));
  };
  says("x = 1\n", "t.toml:1:1: unknown key 'x'");
  says("edges = 3\n", "t.toml:1");
  says("edges = []\n", "must be an array");
  const std::string good = R"({ from = "gpu0-1", to = "switch0" },)";
  says(edges(good + "\n{ from = \"gpu0\", to = \"swich0\" },\n"), "t.toml:3:");
  says(edges(good + R"({ from = "gpu0", to = "swich0" },)"), "got \"swich0\"");
  says(edges(good + R"({ from = "gpu5-2", to = "switch0" },)"), "a range of them");
  says(edges(good + R"({ from = "gpu999", to = "switch0" },)"), "below 256");
  says(edges(good + R"({ from = "gpu0", to = "leaf0" },)"), "no wire joins gpu0 and leaf0");
  says(edges(good + R"({ from = "gpu0", to = "gpu0" },)"), "gpu0 to itself");
  says(edges(good + R"({ from = "switch0", to = "gpu1" },)"), "given twice");
  says(edges(good + R"({ from = "gpu0-2", to = "switch1-2" },)"), "cannot be shared out evenly");
  says(edges(good + R"({ from = "gpu0", to = "gpu1", GBps = -1 },)"), "GBps");
  says(edges(good + R"({ from = "gpu0", to = "gpu1", GBps = nan },)"), "GBps");
  says(edges(good + R"({ from = "gpu0", to = "gpu1", wire = "200G-ib" },)"), "nvlink3-nv4");
  says(edges(good + R"({ from = "gpu0", to = "gpu1", wires = "nv4" },)"), "'wire'");
  says(edges(good + R"({ from = "gpu0", to = "gpu1", oversubscription = 2 },)"),
       "belongs to edges");
  says(edges(good + R"({ from = "gpu3", to = "switch0" },)"), "without a gap");
  says(edges(good + R"({ from = "gpu2", to = "switch1" },)"), "gpu2 has no way to gpu0");
  says(edges(good + R"({ from = "gpu0", to = "nvswitch0" },)"), "gpu1 is not at the nvswitch");
  says(edges(R"({ from = "switch0", to = "socket0" },)"), "name no GPU");
  const std::string nic = good + R"({ from = "nic0", to = "switch0" },)";
  says(edges(nic), "nic0 is plugged into no leaf");
  says(edges(nic + R"({ from = "nic0", to = "leaf0" },)"), "needs 'wire'");
  const std::string port = nic + R"({ from = "nic0", to = "leaf0", wire = "100G-roce" },)";
  says(edges(port + R"({ from = "leaf0", to = "spine0" },)"), "'oversubscription'");
  says(edges(port + R"({ from = "leaf0", to = "spine0", GBps = 5 },)"), "machines_per_leaf");
  says(edges(port + R"({ from = "nic1", to = "leaf0", GBps = 5 },)"), "no GPU has a way to nic1");
  says("machines_per_leaf = 0\n" + edges(port), "machines_per_leaf");
  says("placement = \"anywhere\"\n" + edges(port), "packed");
}

TEST_CASE("a GPU passes nothing on for another") {
  // gpu1 hangs on both switches, which nothing else joins.
  CHECK_THAT(message(edges(R"({ from = "gpu0-1", to = "switch0" },
                              { from = "gpu1-2", to = "switch1" },)")),
             match::ContainsSubstring("gpu2 has no way to gpu0"));
}

TEST_CASE("a scenario with a topology table runs over its network") {
  const ScenarioFile file = read_scenario_text("s.toml", scenario);
  const Cluster& c = file.points.at(0).cluster;
  REQUIRE(c.facts);
  REQUIRE(c.facts->link_class);
  REQUIRE(c.facts->link_class->machine);
  CHECK(has_network(*c.facts->link_class->machine));
  // One ring over 16 GPUs through one adapter of 25 GB/s at 92 %, slots of 20.5 GB/s: the slot is
  // the narrowest. Four to one leaves 2 x 23 / 4 = 11.5 GB/s between the leaves.
  const auto packed = link_curve(*c.facts, {CollectiveKind::all_gather, 16, 4});
  REQUIRE(packed);
  CHECK(packed->curve.parameters.busbw_GBps == Approx(11.5));
  const auto near = link_curve(*c.facts, {CollectiveKind::all_gather, 8, 2});
  CHECK(near->curve.parameters.busbw_GBps > 15);
}

TEST_CASE("a table of 1,024 machines of eight GPUs carries what its adapters and slots do") {
  LinkClass link = *parse_link_class("nvlink4-nvswitch");
  link.machine = std::make_shared<const Topology>(read("machines_per_leaf = 32\n" + edges(R"(
    { from = "gpu0-7", to = "nvswitch0", wire = "nvlink4" },
    { from = "gpu0-7", to = "switch0-7", wire = "pcie5-x16" },
    { from = "switch0-7", to = "socket0-1" },
    { from = "socket0", to = "socket1" },
    { from = "nic0-7", to = "switch0-7", wire = "pcie5-x16" },
    { from = "nic0-7", to = "leaf0-7", wire = "400G-ib" },
    { from = "leaf0-7", to = "spine0-7", oversubscription = 2 },
  )")));
  const auto p = class_parameters(link, {CollectiveKind::all_reduce, 8192, 1024});
  // Eight rings of 46 GB/s, or what eight slots of PCIe 5 pass on: 41 GB/s each.
  CHECK(p.busbw_GBps > 8 * 40);
  CHECK(p.busbw_GBps < 8 * 46);
}

TEST_CASE("a scenario's table and its other keys must agree") {
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = scenario;
    text.replace(text.find(from), from.size(), to);
    return message_of([&] { read_scenario_text("s.toml", text); });
  };
  CHECK_THAT(with("gpus = 16", "gpus = 32"),
             match::ContainsSubstring("s.toml:7:8: the topology has 4 GPUs a machine"));
  CHECK_THAT(with("p2p\"", "p2p\"\ntopo = \"t.txt\""),
             match::ContainsSubstring("exclude each other"));
  CHECK_THAT(with("p2p\"", "p2p+1x200G-ib\""), match::ContainsSubstring("leave out"));
  CHECK_THAT(with("pcie4-x16-p2p", "rtx4090-p2p"), match::ContainsSubstring("must be a class"));
  CHECK_THAT(with("machines_per_leaf", "machine_per_leaf"),
             match::ContainsSubstring("'machines_per_leaf'"));
  CHECK_THAT(with("[cluster.topology]", "topology = 4\n[cluster.topologies]"),
             match::ContainsSubstring("s.toml:"));
}
