#include "model/link_class.h"

#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

LinkClass link(const char* name) {
  const auto parsed = parse_link_class(name);
  INFO(name);
  REQUIRE(parsed);
  return *parsed;
}

double busbw(const char* name,
             std::int64_t ranks,
             std::int64_t nodes = 1,
             CollectiveKind kind = CollectiveKind::all_reduce) {
  return class_parameters(link(name), {kind, ranks, nodes}).busbw_GBps;
}

constexpr const char* every_class[] = {"pcie3-x16-p2p",
                                       "pcie3-x16-nop2p",
                                       "pcie4-x8-p2p",
                                       "pcie4-x16-nop2p",
                                       "pcie5-x16-p2p-2s",
                                       "pcie4-x16-p2p-switch",
                                       "nvlink2-mesh",
                                       "2x-nvlink-pairs",
                                       "nvlink3-bridge-pcie4-nop2p",
                                       "nvlink3-nvswitch",
                                       "nvlink4-alltoall",
                                       "nvlink4-nvswitch",
                                       "nvlink5-nvswitch",
                                       "nvlink5-nvl72",
                                       "8x400G-ib",
                                       "4x100G-efa",
                                       "pcie4-x16-nop2p+10G-tcp"};

}  // namespace

TEST_CASE("a name says how GPUs are joined") {
  const LinkClass plain = link("pcie4-x8-nop2p");
  CHECK(plain.pcie_generation == 4);
  CHECK(plain.pcie_lanes == 8);
  CHECK_FALSE(plain.peer_to_peer);
  CHECK(plain.nvlink_shape == NvlinkShape::none);
  CHECK(link("nvlink3-nvswitch").nvlink_generation == 3);
  CHECK(link("2x-nvlink-pairs").nvlink_shape == NvlinkShape::pairs);
  CHECK(link("2x-nvlink3-pairs-nv12-pcie4").nvlinks == 12);
  CHECK(link("nvlink5-nvl72").domain == 72);
  const LinkClass two_levels = link("nvlink4-nvswitch+8x400G-ib");
  CHECK(two_levels.fabric.nics == 8);
  CHECK(two_levels.fabric.nic_GBps == Approx(50));
  CHECK(link("8x400G-ib").nvlink_shape == NvlinkShape::nvswitch);
  CHECK_FALSE(link("nvlink3-nvswitch+4x200G-roce-nogdr").fabric.gpudirect);
  CHECK(link("8x400G-ib-over2").fabric.oversubscription == 2);
  CHECK(link("pcie4-x16-nop2p@4").busbw_GBps == 4);
  CHECK(link("pcie4-x16-nop2p@4.5GBps").busbw_GBps == 4.5);
}

TEST_CASE("what is no class has no meaning") {
  for (const char* name : {"",
                           "-",
                           "pcie",
                           "x16",
                           "pcie9-x16",
                           "pcie4-x17",
                           "pcie4-y8",
                           "nvlink",
                           "nvlink7-nvswitch",
                           "p2p",
                           "wire",
                           "nvlink3-nvswitch+",
                           "+8x400G-ib",
                           "8x400-ib",
                           "8x400G",
                           "ib",
                           "0x400G-ib",
                           "pcie4-x16@",
                           "pcie4-x16@-3",
                           "pcie4-x16@fast",
                           "8x400G-ib-over0.5",
                           "nvlink3-pcie4",
                           "pcie4-x16-p2p-",
                           "nvlink4-nvswitch+8x400G-ib+8x400G-ib"}) {
    INFO(name);
    // "pcie" alone is a slot of the usual kind.
    CHECK(parse_link_class(name).has_value() == (std::string_view(name) == "pcie"));
  }
}

TEST_CASE("a collective's time rises with its message, without a jump") {
  for (const char* name : every_class) {
    const LinkClass l = link(name);
    for (const CollectiveInfo& kind : collectives) {
      const std::int64_t nodes = l.fabric.kind == NetworkKind::none ? 1 : 2;
      const CollectiveParameters<double> p = class_parameters(l, {kind.kind, 8, nodes});
      double last = 0;
      for (double bytes = 1; bytes < 1e11; bytes *= 1.01) {
        const double time = collective_formula(kind.kind, 8, bytes, p).value;
        REQUIRE(time > last);
        if (last > 0) REQUIRE(time < 1.0101 * last);
        last = time;
      }
    }
  }
}

TEST_CASE("bus bandwidth stays below what the wires carry") {
  for (const char* name : every_class) {
    const LinkClass l = link(name);
    for (const CollectiveInfo& kind : collectives) {
      for (const std::int64_t ranks : {2, 4, 8}) {
        INFO(name << " " << kind.name << " " << ranks);
        const CollectiveGroup inside{kind.kind, ranks, 1};
        CHECK(class_parameters(l, inside).busbw_GBps <= wire_busbw(l, inside));
        if (l.fabric.kind == NetworkKind::none) continue;
        const CollectiveGroup across{kind.kind, 8 * ranks, ranks};
        CHECK(class_parameters(l, across).busbw_GBps <= wire_busbw(l, across));
      }
    }
  }
}

TEST_CASE("a better machine is never slower") {
  CHECK(busbw("pcie4-x16-p2p", 2) > busbw("pcie4-x16-nop2p", 2));
  CHECK(busbw("pcie5-x16-p2p", 2) > busbw("pcie4-x16-p2p", 2));
  CHECK(busbw("pcie4-x16-p2p", 2) > busbw("pcie4-x8-p2p", 2));
  CHECK(busbw("pcie4-x16-nop2p", 2) > busbw("pcie4-x4-nop2p", 2));
  CHECK(busbw("pcie4-x16-p2p-1s", 8) > busbw("pcie4-x16-p2p-2s", 8));
  CHECK(busbw("nvlink4-nvswitch", 8) > busbw("nvlink3-nvswitch", 8));
  CHECK(busbw("8x400G-ib", 32, 4) > busbw("8x200G-ib", 32, 4));
  CHECK(busbw("4x200G-ib", 32, 4) > busbw("4x200G-ib-nogdr", 32, 4));
  CHECK(busbw("4x200G-ib", 32, 4) > busbw("4x200G-tcp", 32, 4));
  CHECK(busbw("8x100G-ib", 8 * 64, 64) > busbw("8x100G-ib-over4", 8 * 64, 64));
}

TEST_CASE("four cards in two NVLink pairs go at the slots' rate, not at the bridges'") {
  // Two ways round have their own slots: twice a slot's 20.5 GB/s, far below the bridge.
  CHECK(busbw("2x-nvlink-pairs", 4) == Approx(2 * 0.65 * 1.969 * 16));
  CHECK(busbw("2x-nvlink3-pairs-nv12", 2) > 200);
}

TEST_CASE(
    "an all-to-all between sockets keeps the ring's pace, behind switches it shares their "
    "uplinks") {
  const auto pace = [](const char* name) {
    // Gathers go round the ring once, as an all-to-all's messages do.
    return busbw(name, 8, 1, CollectiveKind::all_to_all) /
           busbw(name, 8, 1, CollectiveKind::all_gather);
  };
  CHECK(pace("pcie4-x16-nop2p-2s") >= 1);
  CHECK(pace("pcie5-x16-p2p-2s") >= 1);
  // Each of four cards behind an uplink sends 4 of its 7 eighths over it, 2 S together; a ring
  // sends 7 S / 8.
  CHECK(pace("pcie4-x16-p2p-1s-switch") < 0.6);
}

TEST_CASE("adapters belong to GPUs: half the GPUs of each machine use half of them") {
  // Four machines with eight 100 Gb/s adapters: 45 GB/s with four GPUs each, 90 with eight is
  // normal.
  const double half = busbw("nvlink3-nvswitch+8x100G-ib", 16, 4);
  const double whole = busbw("nvlink3-nvswitch+8x100G-ib", 32, 4);
  CHECK(whole / half == Approx(2).epsilon(0.05));
}

TEST_CASE("two levels cross the border less than a ring does") {
  // Between two machines 2 S (2 - 1) / 2 = S a machine against 2 S (n - 1) / n: 15 / 8 as fast.
  const double network = 4 * 12.5 * 0.92;
  CHECK(busbw("nvlink4-nvswitch+4x100G-ib", 16, 2) == Approx(network * 15 / 16 * 2));
  // All-gathers have no such gain.
  CHECK(busbw("nvlink4-nvswitch+4x100G-ib", 16, 2, CollectiveKind::all_gather) <= network);
}

TEST_CASE("several machines need a network in the name") {
  CHECK_THAT(message_of([] { busbw("nvlink4-nvswitch", 16, 2); }),
             match::ContainsSubstring("names no network"));
}

TEST_CASE("a bandwidth that somebody measured takes the class's place") {
  CHECK(busbw("pcie4-x16-nop2p@4", 4) == 4);
  CHECK(busbw("nvlink4-nvswitch+8x400G-ib@150", 16, 2) == 150);
}

TEST_CASE("1,024 machines of eight GPUs reduce at what their adapters carry") {
  const LinkClass l = link("nvlink4-nvswitch+8x400G-ib");
  const auto p = class_parameters(l, {CollectiveKind::all_reduce, 8192, 1024});
  const double time = collective_formula(CollectiveKind::all_reduce, 8192, 1e9, p).value;
  // 2 GB over 8 adapters of 46 GB/s: 5.4 ms and what starting costs.
  CHECK(time > 2e9 / (8 * 50e9));
  CHECK(time < 0.010);
}
