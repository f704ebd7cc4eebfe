// What a row's prose says of the network between its machines: "Omni-Path, 4 links per node (100
// Gb/s each)", "8x HDR InfiniBand 200 Gb/s per node".
#pragma once
#include <string_view>

namespace stepsight {

struct RunNetwork {
  int adapters = 8;              // of a machine
  std::string_view kind = "ib";  // as a link class names it (model/link_class.h)
};

// The usual for what it does not say: eight adapters, InfiniBand.
RunNetwork network_of(std::string_view prose);

}  // namespace stepsight
