// What rows of runs say of their networks.
#include "model/io/run_network.h"

#include <string>

#include "model/link_class.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

std::string words(std::string_view prose) {
  const RunNetwork n = network_of(prose);
  return std::to_string(n.adapters) + "-" + std::string(n.kind);
}

}  // namespace

TEST_CASE("a row's prose tells a network's kind and its adapters") {
  CHECK(words("Omni-Path, 4 links per node (100 Gb/s each)") == "4-opa");
  CHECK(words("4x 100 Gb RoCE per node") == "4-roce");
  CHECK(words("8x HDR InfiniBand 200 Gb/s per node (Selene)") == "8-ib");
  CHECK(words("16 adapters, EFA") == "16-efa");
}

TEST_CASE("rates and numbers of GPUs are not numbers of adapters") {
  CHECK(words("RoCE 1600 Gbps node-node") == "8-roce");
  CHECK(words("RDMA 400 Gb/s per GPU") == "8-ib");
  CHECK(words("800 Gb/s per node (simulation config; network type not stated)") == "8-ib");
  CHECK(words("100x nothing, 0 links, 99999999999999999999 links") == "8-ib");
  CHECK(words("") == "8-ib");
}

TEST_CASE("every kind of network that a row can name is a link class") {
  for (const char* prose :
       {"Omni-Path", "RoCE", "EFA", "Slingshot", "Ethernet", "HDR InfiniBand"}) {
    const RunNetwork n = network_of(prose);
    CHECK(parse_link_class("nvlink3-nvswitch+4x100G-" + std::string(n.kind)));
  }
}
