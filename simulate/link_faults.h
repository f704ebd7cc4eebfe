// What commonly goes wrong with a link, as links of their own: a scenario simulated over one of
// them shows what the fault would cost.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "model/link_curve.h"
#include "model/scenario.h"

namespace stepsight {

enum class LinkFaultKind : std::uint8_t {
  host_memory,   // no peer-to-peer: through host memory
  no_nvlink,     // peers, but over PCIe
  few_lanes,     // a slot of fewer lanes
  sockets,       // TCP in place of RDMA
  one_adapter,   // of several
  management,    // the 1 Gb/s interface in place of the fast one
  no_gpudirect,  // adapters do not reach GPU memory
};

struct LinkFault {
  LinkFaultKind kind = LinkFaultKind::host_memory;
  std::string name;    // "NVLink and P2P are off: gradients go through host memory"
  std::string action;  // what to do first
  std::shared_ptr<const LinkFacts> link;
};

// Faults that the cluster's link can have, none that it is already. Empty for a loop-back and for a
// link that only a profile knows (no class stands behind its name).
std::vector<LinkFault> link_faults(const Cluster& cluster);

// The scenario over that link.
Scenario with_link(const Scenario& scenario, const LinkFault& fault);

}  // namespace stepsight
