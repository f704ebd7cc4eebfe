// What machines of a graph with adapters, leaves and spines exchange with each other.
#pragma once
#include <cstdint>

#include "model/topology.h"

namespace stepsight {

struct NetworkRates {
  double ring_GBps = 0;    // bus bandwidth of rings over all GPUs, all rings together
  double levels_GBps = 0;  // the same when an all-reduce sums inside first, exchanges, then spreads
  double pairs_GBps = 0;   // out of a machine when every GPU sends to every other
  double hop_us = 0;       // from one machine to another
  double ramp_us = 0;
};

// True when the graph has adapters.
bool has_network(const Topology& t);

// Rates between `machines` (>= 2) equal machines of the graph with the first `gpus` (>= 1) GPUs of
// each. The adapters nearest to those GPUs are used, and each carries one ring, as NCCL builds them
// (graph/search.cc): in at an adapter, through the GPUs, out at the same one. Rings share what they
// cross max-min fairly, each as fast as all its edges allow: slots and uplinks inside the machine
// (NVLink aside), the adapter's port, and, where machines are under different leaves, the uplinks
// between them. Packed machines cross a set of leaves' border once a ring, each way; scattered ones
// with every machine whose next is elsewhere. A leaf spreads what goes up over all its uplinks.
// In two levels an adapter carries 2 S (M - 1) / M of a message S where a ring of n = M x gpus
// carries 2 S (n - 1) / n.
//
// UserError when machines are under different leaves and no spine joins them, or an adapter in use
// cannot be reached.
NetworkRates network_rates(const Topology& t, std::uint32_t gpus, std::int64_t machines);

}  // namespace stepsight
