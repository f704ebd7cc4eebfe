// Link classes: what a name like "pcie4-x16-nop2p" or "nvlink3-nvswitch+8x200G-ib" stands for, and
// what a collective costs there by class, where nobody measured.
//
// A name is words joined by '-', a machine and, after '+', the network between machines:
//   nvlink2..5, nvlink    generation (without a number: 3)
//   nvswitch              every GPU of the machine through a switch; nvl72: of a rack
//   mesh, alltoall        NVLink from GPU to GPU: V100's hybrid cube mesh, or every pair joined
//   bridge, pairs         NVLink bridges between GPUs 0 and 1, 2 and 3, ...; "2x-nvlink-pairs"
//   nv2..nv18             NVLinks of a pair
//   pcie2..6, x1..x16     generation and lanes of each GPU's slot
//   p2p, nop2p            whether peers reach each other (nop2p: through host memory)
//   pxb, phb              how far NCCL lets them: behind PCIe switches only (today's default for
//   more
//                         than two cards), or under one host bridge (Intel hosts before that);
//                         without the word anywhere. The others go through host memory
//   1s, 2s                cards on one socket or spread over two (else two above four cards)
//   switch                the cards sit behind PCIe switches, four to an uplink
//   KxRG-NET              K adapters of R Gb/s a machine; NET is ib, roce, efa, tcp, opa, slingshot
//   nogdr                 adapters cannot reach GPU memory; overF: uplinks oversubscribed F to 1
//   @G at the end         G GB/s of bus bandwidth, as somebody measured, whatever the class says
//
// A network alone ("8x400G-ib") stands for machines whose inside is not the bottleneck
// (nvlink4-nvswitch).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/collective.h"
#include "model/topology.h"

namespace stepsight {

// Relative standard deviation of what a class predicts.
inline constexpr double link_class_spread = 0.4;

enum class NvlinkShape : std::uint8_t { none, nvswitch, mesh, all_to_all, pairs };

struct LinkClass {
  NvlinkShape nvlink_shape = NvlinkShape::none;
  int nvlink_generation = 0;
  int nvlinks = 0;          // of a GPU at a switch, of a pair with bridges; 0 = the usual
  std::int64_t domain = 8;  // GPUs of a machine (of a rack: 72) that share NVSwitch and adapters
  int pcie_generation = 4;
  int pcie_lanes = 16;
  bool peer_to_peer = true;
  PeerReach reach = PeerReach::anywhere;
  int sockets = 0;  // 0 = as many as the number of cards suggests
  bool pcie_switches = false;
  Fabric fabric;
  double busbw_GBps = 0;  // set by the user; 0 = by class
  // The machine's own graph where somebody read it (nvidia-smi topo -m); else built from the above.
  std::shared_ptr<const Topology> machine;
};

// Nothing when a word is not known, when words contradict each other, or when the name says nothing
// of how GPUs are joined.
std::optional<LinkClass> parse_link_class(std::string_view name);

// "pcie4-x16-nop2p" without a limit of the user's; the limit in GB/s, 0 when there is none or it is
// not a number above 0.
struct LinkName {
  std::string name;
  double busbw_GBps = 0;
};
LinkName split_limit(std::string_view name);

// NVLinks of a GPU at its switch or mesh, or of a pair with its bridge, where the name does not
// say.
int usual_nvlinks(const LinkClass& link);

// Where a card sits: equal numbers mean the same socket, host bridge or PCIe switch.
struct CardSlot {
  std::uint32_t socket = 0;
  std::uint32_t host_bridge = 0;  // counted over the machine
  std::int32_t pcie_switch = -1;  // counted over the machine; -1: straight at the host bridge
};
struct NvlinkPair {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::int32_t lanes = 0;
};

// The graph of a machine whose cards sit like that, with the class's wires. `switch_lanes` > 0: all
// GPUs hang on an NVSwitch with that many links each.
Topology build_machine(const LinkClass& link,
                       std::span<const CardSlot> slots,
                       std::span<const NvlinkPair> pairs,
                       int switch_lanes);

// The graph of one machine of the class with that many GPUs.
Topology machine_topology(const LinkClass& link, std::int64_t gpus);

// What is asked of a link.
struct CollectiveGroup {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t ranks = 2;
  std::int64_t nodes = 1;    // machines that the ranks are spread over evenly
  std::int64_t sharing = 1;  // such groups that use a machine's network at the same time
};

// Class values for a group of at least two ranks. Latency from NCCL's tuning model (a base and a
// part for each hop of its ring or tree, graph/tuning.cc), bandwidth from the graph, its rings and
// the network, each with the share of the wire's rate that machines of the class reach; the ramp
// between the two from the sweeps in calibrate/measurements. Monotone in the message, and the bus
// bandwidth is never above what the edges carry. UserError when the group needs a network that the
// class does not name.
CollectiveParameters<double> class_parameters(const LinkClass& link, const CollectiveGroup& group);

// Bytes a second of bus bandwidth that the wires themselves allow, with no loss at all: the bound
// for every prediction.
double wire_busbw(const LinkClass& link, const CollectiveGroup& group);

}  // namespace stepsight
