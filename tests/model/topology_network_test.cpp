#include "model/topology_network.h"

#include "model/errors.h"
#include "model/link_class.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

// A machine of two GPUs, joined by NVLink, and two adapters of 10 GB/s behind one switch, with
// leaves and spines to be added.
struct Machine {
  Topology t;
  std::uint32_t nic0 = 0;
  std::uint32_t nic1 = 0;

  explicit Machine(double to_adapters = 1000) {
    t.gpus = 2;
    t.machines_per_leaf = 4;
    add_vertex(t, VertexKind::gpu);
    add_vertex(t, VertexKind::gpu);
    const std::uint32_t sw = add_vertex(t, VertexKind::pcie_switch);
    const std::uint32_t far = add_vertex(t, VertexKind::pcie_switch);
    nic0 = add_vertex(t, VertexKind::nic);
    nic1 = add_vertex(t, VertexKind::nic);
    add_edge(t, 0, 1, EdgeKind::nvlink, 1000, 1, 4);
    add_edge(t, 0, sw, EdgeKind::pcie, 1000, 1);
    add_edge(t, 1, sw, EdgeKind::pcie, 1000, 1);
    add_edge(t, sw, far, EdgeKind::pcie, to_adapters, 1);
    add_edge(t, nic0, far, EdgeKind::pcie, 1000, 1);
    add_edge(t, nic1, far, EdgeKind::pcie, 1000, 1);
  }
  std::uint32_t leaf() { return add_vertex(t, VertexKind::leaf); }
  std::uint32_t spine() { return add_vertex(t, VertexKind::spine); }
  void join(std::uint32_t a, std::uint32_t b, double GBps) {
    add_edge(t, a, b, EdgeKind::network, GBps, 2);
  }
  [[nodiscard]] NetworkRates rates(std::int64_t machines) const {
    return network_rates(t, 2, machines);
  }
};

// Both adapters on one leaf with two spines.
Machine one_leaf(double uplink) {
  Machine m;
  const std::uint32_t leaf = m.leaf();
  m.join(m.nic0, leaf, 10);
  m.join(m.nic1, leaf, 10);
  m.join(leaf, m.spine(), uplink);
  m.join(leaf, m.spine(), uplink);
  return m;
}

}  // namespace

TEST_CASE("under one leaf each adapter carries its ring at the rate of its port") {
  CHECK(one_leaf(1).rates(4).ring_GBps == Approx(20));
  CHECK(one_leaf(1).rates(4).hop_us == Approx(4));  // two ports of 2 us
}

TEST_CASE("rings that leave a leaf share its uplinks") {
  // Eight machines, four to a leaf: two rings cross the border once each way, over 3 + 3 GB/s.
  const NetworkRates r = one_leaf(3).rates(8);
  CHECK(r.ring_GBps == Approx(6));
  CHECK(r.hop_us == Approx(8));  // two ports and two uplinks
  // With 20 + 20 GB/s, which is two to one, the ports are the bottleneck again: a ring of packed
  // machines crosses once, however many machines there are.
  CHECK(one_leaf(20).rates(8).ring_GBps == Approx(20));
  CHECK(one_leaf(20).rates(4000).ring_GBps == Approx(20));
}

TEST_CASE("scattered machines meet the oversubscription that packed ones do not") {
  // Of eight machines in any order, a machine's next is under the other leaf with chance 4 / 7:
  // each ring crosses 16 / 7 times, two rings share 40 GB/s.
  Machine m = one_leaf(20);
  m.t.packed = false;
  CHECK(m.rates(8).ring_GBps == Approx(40 / (16.0 / 7)));
}

TEST_CASE("what all send to all leaves by the share of machines elsewhere") {
  // Four machines send 4 / 7 of what they send over 40 GB/s: 17.5 a machine.
  CHECK(one_leaf(20).rates(8).pairs_GBps == Approx(17.5));
  CHECK(one_leaf(20).rates(4).pairs_GBps == Approx(20));
}

TEST_CASE("a ring that is held up at its own leaf leaves the other alone") {
  Machine m;
  const std::uint32_t slow = m.leaf();
  const std::uint32_t fast = m.leaf();
  const std::uint32_t spine = m.spine();
  m.join(m.nic0, slow, 10);
  m.join(m.nic1, fast, 10);
  m.join(slow, spine, 4);
  m.join(fast, spine, 100);
  CHECK(m.rates(8).ring_GBps == Approx(4 + 10));
}

TEST_CASE("what one ring cannot use of a shared edge goes to the other") {
  // 12 GB/s from the GPUs to both adapters; the first has a port of 4: the second gets 8, not 6.
  Machine m(12);
  const std::uint32_t leaf = m.leaf();
  m.join(m.nic0, leaf, 4);
  m.join(m.nic1, leaf, 10);
  CHECK(m.rates(2).ring_GBps == Approx(12));
  // In two levels of two machines with two GPUs each, 2/3 of what a ring sends crosses the border:
  // (2 S / 2) / (2 S 3 / 4). The first adapter: 4 / (2/3) = 6; the second: (12 - 4) / (2/3) = 12.
  CHECK(m.rates(2).levels_GBps == Approx(18));
}

TEST_CASE("the GPUs of a machine without NVLink share their slots with the adapter") {
  // 0 and 1 on one switch, with the adapter: the ring enters at 0, goes to 1, leaves there: each
  // slot once each way. In two levels of two machines the slots carry 2/3 for the adapter's bytes:
  // 0 out and 1 in carry one, 0 in and 1 out 2/3, so the slot of one is the limit still.
  Topology t;
  t.gpus = 2;
  add_vertex(t, VertexKind::gpu);
  add_vertex(t, VertexKind::gpu);
  const std::uint32_t sw = add_vertex(t, VertexKind::pcie_switch);
  const std::uint32_t nic = add_vertex(t, VertexKind::nic);
  const std::uint32_t leaf = add_vertex(t, VertexKind::leaf);
  add_edge(t, 0, sw, EdgeKind::pcie, 10, 1);
  add_edge(t, 1, sw, EdgeKind::pcie, 10, 1);
  add_edge(t, nic, sw, EdgeKind::pcie, 10, 1);
  add_edge(t, nic, leaf, EdgeKind::network, 50, 2);
  CHECK(network_rates(t, 2, 2).ring_GBps == Approx(10));
  CHECK(network_rates(t, 2, 2).levels_GBps == Approx(10));
}

TEST_CASE("adapters of idle GPUs are not used") {
  Topology t;
  t.gpus = 2;
  add_vertex(t, VertexKind::gpu);
  add_vertex(t, VertexKind::gpu);
  const std::uint32_t socket = add_vertex(t, VertexKind::socket);
  const std::uint32_t leaf = add_vertex(t, VertexKind::leaf);
  for (std::uint32_t g = 0; g < 2; ++g) {
    const std::uint32_t sw = add_vertex(t, VertexKind::pcie_switch);
    const std::uint32_t nic = add_vertex(t, VertexKind::nic);
    add_edge(t, g, sw, EdgeKind::pcie, 100, 1);
    add_edge(t, sw, socket, EdgeKind::pcie, 100, 1);
    add_edge(t, nic, sw, EdgeKind::pcie, 100, 1);
    add_edge(t, nic, leaf, EdgeKind::network, 10, 2);
  }
  add_edge(t, 0, 1, EdgeKind::nvlink, 100, 1, 4);
  CHECK(network_rates(t, 1, 4).ring_GBps == Approx(10));
  CHECK(network_rates(t, 2, 4).ring_GBps == Approx(20));
}

TEST_CASE("leaves without spines end at their machines") {
  Machine m;
  const std::uint32_t leaf = m.leaf();
  m.join(m.nic0, leaf, 10);
  m.join(m.nic1, leaf, 10);
  CHECK_NOTHROW(m.rates(4));
  CHECK_THROWS_AS(m.rates(5), UserError);
}
