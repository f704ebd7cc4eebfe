#include "model/io/topo_matrix.h"

#include "model/transport.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

const std::string pairs_across =
    R"(        GPU0    GPU1    GPU2    GPU3    NIC0    NIC1    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      PHB     NV4     NODE    SYS     SYS     0-23    0               N/A
GPU1    PHB      X      NODE    NV4     SYS     SYS     0-23    0               N/A
GPU2    NV4     NODE     X      PHB     PHB     PHB     24-47   0               N/A
GPU3    NODE    NV4     PHB      X      PHB     PHB     24-47   0               N/A
NIC0    SYS     SYS     PHB     PHB      X      PIX
NIC1    SYS     SYS     PHB     PHB     PIX      X

Legend:
  X    = Self
)";

Topology read(const std::string& text, const char* link = "pcie4-x16-nop2p") {
  return topo_matrix_topology("topo.txt", text, *parse_link_class(link));
}

TransportKind way(const Topology& t, std::uint32_t a, std::uint32_t b) {
  return Transports(t, t.gpus).between(a, b).kind;
}

std::string matrix_of(std::size_t gpus, const std::string& cell, bool numa_of_its_own = false) {
  std::string text;
  for (std::size_t i = 0; i < gpus; ++i) text += "\tGPU" + std::to_string(i);
  text += "\tCPU Affinity\tNUMA Affinity\n";
  for (std::size_t i = 0; i < gpus; ++i) {
    text += "GPU" + std::to_string(i);
    for (std::size_t j = 0; j < gpus; ++j) text += i == j ? "\t X " : "\t" + cell;
    text += "\t0-7,64-71\t" + std::to_string(numa_of_its_own ? i : 0) + "\n";
  }
  return text;
}

std::size_t count(const Topology& t, VertexKind kind) {
  return static_cast<std::size_t>(
      std::ranges::count_if(t.vertices, [&](const Vertex& v) { return v.kind == kind; }));
}

}  // namespace

TEST_CASE("two NVLink pairs that cross the host bridges are found") {
  const Topology t = read(pairs_across);
  CHECK(t.gpus == 4);
  CHECK(way(t, 0, 2) == TransportKind::nvlink);
  CHECK(way(t, 0, 1) == TransportKind::host_memory);
  CHECK(count(t, VertexKind::socket) == 1);
  CHECK(count(t, VertexKind::host_bridge) == 2);
  // The ring goes 0-2 and 3-1 over NVLink, 2-3 and 1-0 through host memory.
  CHECK(best_rings(t, 4).order == std::vector<std::uint32_t>{0, 2, 3, 1});
}

TEST_CASE("colours, NIC names and missing columns do not matter") {
  std::string text = pairs_across;
  text.insert(0, "\x1b[4m");
  for (const char* nic : {"NIC0", "NIC1"}) {
    for (std::size_t at = text.find(nic); at != text.npos; at = text.find(nic)) {
      text.replace(at, 4, "mlx5_0");
    }
  }
  CHECK(read(text).gpus == 4);
  const std::string bare = "GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n";
  CHECK(way(read(bare, "pcie4-x16-p2p"), 0, 1) == TransportKind::pcie_peer);
}

TEST_CASE("cards on two sockets cross the link between them") {
  const Topology t = read("GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n", "pcie4-x16-p2p");
  CHECK(count(t, VertexKind::socket) == 2);
  CHECK(best_rings(t, 2).GBps <
        best_rings(read("GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n", "pcie4-x16-p2p"), 2).GBps);
}

TEST_CASE("SYS everywhere with a NUMA node for each GPU is one fast fabric") {
  const Topology nps4 = read(matrix_of(8, "SYS", true), "pcie4-x16-p2p");
  const Topology two = machine_topology(*parse_link_class("pcie4-x16-p2p-2s"), 8);
  CHECK(best_rings(nps4, 8).GBps > best_rings(two, 8).GBps);
}

TEST_CASE("the same NVLinks between all of eight are a switch") {
  const Topology a100 = read(matrix_of(8, "NV12"));
  CHECK(count(a100, VertexKind::nvswitch) == 1);
  CHECK(a100.nvlink_generation == 3);
  CHECK_FALSE(a100.in_switch_sums);
  CHECK(read(matrix_of(8, "NV18")).in_switch_sums);
  // Four with six links to each other are joined directly: eighteen are a GPU's all.
  CHECK(count(read(matrix_of(4, "NV6")), VertexKind::nvswitch) == 0);
}

TEST_CASE("four of twenty-eight pairs with a bridge do not make a switch") {
  std::string text =
      "GPU0 GPU1 GPU2 GPU3\nGPU0 X NV12 SYS SYS\nGPU1 NV12 X SYS SYS\n"
      "GPU2 SYS SYS X NV12\nGPU3 SYS SYS NV12 X\n";
  const Topology t = read(text, "pcie4-x16-p2p");
  CHECK(count(t, VertexKind::nvswitch) == 0);
  CHECK(count(t, VertexKind::socket) == 2);  // strays go with their bridge's partner
  CHECK(way(t, 0, 1) == TransportKind::nvlink);
  CHECK(way(t, 1, 2) == TransportKind::pcie_peer);
}

TEST_CASE("cards behind one switch share its uplink") {
  const std::string text =
      "GPU0 GPU1 GPU2 GPU3\nGPU0 X PIX SYS SYS\nGPU1 PIX X SYS SYS\n"
      "GPU2 SYS SYS X PXB\nGPU3 SYS SYS PXB X\n";
  CHECK(count(read(text), VertexKind::pcie_switch) == 2);
}

TEST_CASE("a matrix that cannot be is refused with its place") {
  const auto says = [](const std::string& text, const char* what) {
    INFO(text);
    CHECK_THAT(message_of([&] { read(text); }), match::ContainsSubstring(what));
  };
  says("", "no `nvidia-smi topo -m` matrix");
  says("hello\nworld\n", "no `nvidia-smi topo -m` matrix");
  says("GPU0 GPU1\nGPU0 X PHB\n", "row of GPU1 is missing");
  says("GPU0 GPU1\nGPU0 X\nGPU1 PHB X\n", "topo.txt:2");
  says("GPU0 GPU1\nGPU0 X FOO\nGPU1 PHB X\n", "'FOO' is no connection");
  says("GPU0 GPU1\nGPU0 X PHB\nGPU1 SYS X\n", "say different things");
  says("GPU0 GPU1\nGPU0 PHB X\nGPU1 X PHB\n", "'X' must stand where");
  says("GPU0 GPU1\nGPU0 X PHB\nGPU0 X PHB\nGPU1 PHB X\n", "two rows");
  says("GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\nGPU2 PHB X\n", "that the header lacks");
  says("GPU0 GPU1\nGPU0 X NV99\nGPU1 NV99 X\n", "'NV99'");
}
