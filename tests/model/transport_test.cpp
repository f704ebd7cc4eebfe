#include "model/transport.h"

#include "model/link_class.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

Topology machine(const char* name, std::int64_t gpus) {
  const auto link = parse_link_class(name);
  REQUIRE(link);
  return machine_topology(*link, gpus);
}

double ring(const char* name, std::uint32_t gpus) {
  return best_rings(machine(name, gpus), gpus).GBps;
}

// `lanes[i][j]` NVLinks of 1 GB/s between GPUs and nothing else, but for a slow PCIe star.
Topology mesh(const std::vector<NvlinkPair>& pairs, std::uint32_t gpus) {
  Topology t;
  t.gpus = gpus;
  for (std::uint32_t g = 0; g < gpus; ++g) add_vertex(t, VertexKind::gpu);
  const std::uint32_t hub = add_vertex(t, VertexKind::socket);
  for (std::uint32_t g = 0; g < gpus; ++g) add_edge(t, g, hub, EdgeKind::pcie, 0.01, 1);
  for (const NvlinkPair& p : pairs) {
    add_edge(t, p.a, p.b, EdgeKind::nvlink, p.lanes, 1, p.lanes);
  }
  return t;
}

}  // namespace

TEST_CASE("two cards talk as NCCL would let them") {
  CHECK(Transports(machine("nvlink3-bridge-pcie4", 4), 4).between(0, 1).kind ==
        TransportKind::nvlink);
  CHECK(Transports(machine("nvlink3-bridge-pcie4", 4), 4).between(1, 2).kind ==
        TransportKind::pcie_peer);
  CHECK(Transports(machine("nvlink3-bridge-pcie4-nop2p", 4), 4).between(1, 2).kind ==
        TransportKind::host_memory);
  CHECK(Transports(machine("nvlink4-nvswitch", 8), 8).between(0, 7).kind == TransportKind::nvlink);
}

TEST_CASE("NVLink is not a way through another GPU") {
  // 0 - 1 - 2: the ends have no link of their own.
  const Topology chain = mesh({{0, 1, 1}, {1, 2, 1}}, 3);
  CHECK(Transports(chain, 3).between(0, 2).kind == TransportKind::pcie_peer);
}

TEST_CASE("rings take every link of a hybrid cube mesh, each in both directions") {
  // A link carries 22.5 GB/s. GPU 0 and 1 have one link; the triangle one ring, two ways round; a
  // quad two rings; six GPUs one, through the single link of 4 and 5; eight three.
  CHECK(ring("nvlink2-mesh", 2) == Approx(22.5));
  CHECK(ring("nvlink2-mesh", 3) == Approx(2 * 22.5));
  CHECK(ring("nvlink2-mesh", 4) == Approx(4 * 22.5));
  CHECK(ring("nvlink2-mesh", 6) == Approx(2 * 22.5));
  CHECK(ring("nvlink2-mesh", 7) == Approx(4 * 22.5));
  CHECK(ring("nvlink2-mesh", 8) == Approx(6 * 22.5));
}

TEST_CASE("GPUs that NVLink joins in a tree only run a tree over one link") {
  // Of five, GPU 4 hangs on GPU 0 alone. A tree moves the message once up and once down: bus
  // bandwidth 2 (n - 1) / n of a link.
  CHECK(ring("nvlink2-mesh", 5) == Approx(1.6 * 22.5));
}

TEST_CASE("the packing finds rings that a greedy walk would miss") {
  // Every vertex of this graph has four links, and it splits into two rings: 0-1-2-3-4 and
  // 0-2-4-1-3.
  const Topology complete = mesh({{0, 1, 1},
                                  {0, 2, 1},
                                  {0, 3, 1},
                                  {0, 4, 1},
                                  {1, 2, 1},
                                  {1, 3, 1},
                                  {1, 4, 1},
                                  {2, 3, 1},
                                  {2, 4, 1},
                                  {3, 4, 1}},
                                 5);
  CHECK(best_rings(complete, 5).GBps == Approx(4));
}

TEST_CASE("a ring is as fast as its slowest edge") {
  Topology t;
  t.gpus = 3;
  for (int g = 0; g < 3; ++g) add_vertex(t, VertexKind::gpu);
  const std::uint32_t hub = add_vertex(t, VertexKind::socket);
  add_edge(t, 0, hub, EdgeKind::pcie, 10, 1);
  add_edge(t, 1, hub, EdgeKind::pcie, 10, 1);
  add_edge(t, 2, hub, EdgeKind::pcie, 4, 1);  // a narrow slot
  // Both ways round cross the narrow slot in each direction once: 2 GB/s each, 4 together.
  CHECK(best_rings(t, 3).GBps == Approx(4));
  CHECK(best_rings(t, 2).GBps == Approx(10));  // without the third card
}

TEST_CASE("flows of a ring share an uplink fairly") {
  // Two switches with two cards each on one uplink of 10 GB/s: a ring 0 1 2 3 leaves each switch
  // once.
  Topology t;
  t.gpus = 4;
  for (int g = 0; g < 4; ++g) add_vertex(t, VertexKind::gpu);
  const std::uint32_t hub = add_vertex(t, VertexKind::socket);
  for (std::uint32_t s = 0; s < 2; ++s) {
    const std::uint32_t sw = add_vertex(t, VertexKind::pcie_switch);
    add_edge(t, sw, hub, EdgeKind::pcie, 10, 1);
    add_edge(t, 2 * s, sw, EdgeKind::pcie, 10, 1);
    add_edge(t, 2 * s + 1, sw, EdgeKind::pcie, 10, 1);
  }
  const Transports transports(t, 4);
  const std::vector<std::uint32_t> near{0, 1, 2, 3};
  const std::vector<std::uint32_t> far{0, 2, 1, 3};
  // In order each uplink carries one flow a ring and direction; the other order crosses it twice.
  CHECK(ring_rate(transports, near).GBps == Approx(10));
  CHECK(ring_rate(transports, far).GBps == Approx(5));
  CHECK(best_rings(t, 4).GBps == Approx(10));
}

TEST_CASE("cards numbered across the switches are put in order") {
  Topology t;
  t.gpus = 4;
  for (int g = 0; g < 4; ++g) add_vertex(t, VertexKind::gpu);
  // 0 and 2 are joined by a fast link, 1 and 3 too; between the pairs it is slow.
  add_edge(t, 0, 2, EdgeKind::nvlink, 50, 1, 2);
  add_edge(t, 1, 3, EdgeKind::nvlink, 50, 1, 2);
  const std::uint32_t hub = add_vertex(t, VertexKind::socket);
  for (std::uint32_t g = 0; g < 4; ++g) add_edge(t, g, hub, EdgeKind::pcie, 10, 1);
  const RingRate best = best_rings(t, 4);
  // 0-2-..: each way round has its own two slots, so two rings of 10 GB/s run at once.
  CHECK(best.GBps == Approx(20));
  CHECK(best.order == std::vector<std::uint32_t>{0, 2, 1, 3});
  CHECK(best.slowest == TransportKind::pcie_peer);
}

TEST_CASE("an all-to-all over one star fills every slot") {
  // Three flows leave each slot of 20.5 GB/s (x16 of generation 4): a third each, three in sum.
  const Topology t = machine("pcie4-x16-p2p", 4);
  CHECK(all_to_all_rate(t, 4) == Approx(best_rings(t, 4).GBps));
}

TEST_CASE("staged copies cost a card its slot once, not once a ring") {
  const double two_rings = ring("pcie4-x16-nop2p", 4);
  const double one_pair = ring("pcie4-x16-nop2p", 2);
  CHECK(two_rings == Approx(one_pair));
}

TEST_CASE("peers reach each other as far as NCCL lets them") {
  const auto way = [](const char* name, std::int64_t gpus, std::uint32_t to) {
    return Transports(machine(name, gpus), static_cast<std::uint32_t>(gpus)).between(0, to).kind;
  };
  // Eight cards: two switches to each of two sockets, one host bridge a socket.
  CHECK(way("pcie4-x16-p2p-switch", 8, 7) == TransportKind::pcie_peer);
  CHECK(way("pcie4-x16-p2p-phb-switch", 8, 7) == TransportKind::host_memory);
  CHECK(way("pcie4-x16-p2p-phb-switch", 8, 3) == TransportKind::pcie_peer);
  CHECK(way("pcie4-x16-p2p-pxb-switch", 8, 3) == TransportKind::pcie_peer);
  // Without switches four cards meet at the host bridge.
  CHECK(way("pcie4-x16-p2p-phb", 4, 3) == TransportKind::pcie_peer);
  CHECK(way("pcie4-x16-p2p-pxb", 4, 3) == TransportKind::host_memory);
  // Two alone go anywhere.
  CHECK(way("pcie4-x16-p2p-pxb", 2, 1) == TransportKind::pcie_peer);
  CHECK(way("pcie4-x16-nop2p", 2, 1) == TransportKind::host_memory);
}

TEST_CASE("a ring that is staged in part goes one way round only") {
  // Two NVLink pairs, slots of 10 GB/s, 5 GB/s through host memory. The ring 0-1-2-3 is staged from
  // 1 to 2 and from 3 to 0: 5 GB/s. Peers could run a second ring the other way round.
  Topology t;
  t.gpus = 4;
  for (int g = 0; g < 4; ++g) add_vertex(t, VertexKind::gpu);
  add_edge(t, 0, 1, EdgeKind::nvlink, 50, 1, 4);
  add_edge(t, 2, 3, EdgeKind::nvlink, 50, 1, 4);
  const std::uint32_t hub = add_vertex(t, VertexKind::socket);
  for (std::uint32_t g = 0; g < 4; ++g) {
    add_edge(t, g, hub, EdgeKind::pcie, 10, 1);
    const std::uint32_t buffer = add_vertex(t, VertexKind::staging);
    add_edge(t, g, buffer, EdgeKind::staging, 5, 1);
  }
  CHECK(best_rings(t, 4).GBps == Approx(20));
  t.peer_to_peer = false;
  CHECK(best_rings(t, 4).GBps == Approx(5));
  CHECK(best_rings(t, 4).order == std::vector<std::uint32_t>{0, 1, 2, 3});
}
