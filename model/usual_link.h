// What cards are usually joined by, from facts of their class alone: NVLink's generation, the
// slot's generation, and whether the driver lets PCIe peers reach each other (GeForce cards from
// the 20 series on: no).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace stepsight {

// The name of a link class (model/link_class.h) for cards of that profile name ("rtx-3090") in a
// machine of that kind: nvswitch, nvlink-mesh, nvlink-pairs or pcie. `network_Gbps` > 0: machines
// joined by that much each, over as many adapters of that kind (ib, roce, ...). Cards that are not
// known count as PCIe 4 ones with P2P as far as today's NCCL takes it. Another word (a link's own
// name, "loopback:2") is returned as it is.
std::string usual_link(std::string_view card,
                       std::string_view kind,
                       double network_Gbps,
                       int adapters = 8,
                       std::string_view network = "ib");

}  // namespace stepsight
