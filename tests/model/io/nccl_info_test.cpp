#include "model/io/logs/nccl_info.h"

#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

constexpr std::string_view two_machines =
    R"(gpu-a:39155:39182 [0] NCCL INFO NCCL version 2.24.3+cuda12.6
gpu-a:39155:39182 [0] NCCL INFO NET/IB : No device found.
gpu-a:39155:39182 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>
gpu-a:39155:39182 [0] NCCL INFO Using network Socket
iter 1: loss 2.0, time 100.00ms
gpu-a:39155:39182 [0] NCCL INFO Channel 00 : 0[1000] -> 1[21000] via SHM/direct/direct
gpu-a:39155:39182 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0
gpu-a:39155:39182 [0] NCCL INFO Channel 01/0 : 1[1] -> 2[0] [send] via NET/Socket/0
gpu-a:39155:39182 [0] NCCL INFO comm 0x55aa rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 commId 0x9b1 - Init COMPLETE
gpu-a:39155:39182 [0] NCCL INFO AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}
)";

}  // namespace

TEST_CASE("NCCL's own lines tell transports, network, ranks and algorithms") {
  const NcclInfo info = read_nccl_info_text("run.log", two_machines);
  CHECK(info.version == "2.24.3+cuda12.6");
  CHECK(info.ranks == 4);
  CHECK(info.transports.at("SHM/direct") == 1);
  CHECK(info.transports.at("NET/Socket") == 2);
  CHECK(info.network == "Socket");
  CHECK(info.no_infiniband);
  CHECK(info.algorithms.at("RING SIMPLE") == 1);
  const auto found = findings(info);
  REQUIRE(found.size() == 2);
  CHECK_THAT(found[0], match::ContainsSubstring("TCP sockets because NCCL finds no InfiniBand"));
  CHECK_THAT(found[1], match::ContainsSubstring("no P2P"));
}

TEST_CASE("a healthy machine gives nothing to find") {
  const NcclInfo info = read_nccl_info_text(
      "run.log",
      "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "a:1:1 [7] NCCL INFO Channel 01/0 : 7[7] -> 8[0] [send] via NET/IB/3/GDRDMA\n");
  CHECK(info.gpudirect == 1);
  CHECK(info.transports.at("NET/IB") == 1);
  CHECK(findings(info).empty());
}

TEST_CASE("RDMA by a plugin is said where InfiniBand seems to be off") {
  const NcclInfo info =
      read_nccl_info_text("run.log",
                          "a:1:1 [0] NCCL INFO NET/Plugin: Loaded net plugin IBext_v8\n"
                          "a:1:1 [0] NCCL INFO NET/IB : No device found.\n"
                          "a:1:1 [0] NCCL INFO Channel 01/0 : 7[7] -> 8[0] via NET/IBext/0\n");
  const auto found = findings(info);
  REQUIRE(found.size() == 2);
  CHECK_THAT(found[0], match::ContainsSubstring("no GDRDMA"));
  CHECK_THAT(found[1], match::ContainsSubstring("IBext_v8"));
}

TEST_CASE("a file without a line of NCCL is refused") {
  CHECK_THAT(message_of([] { read_nccl_info_text("run.log", "step 1\n"); }),
             match::ContainsSubstring("run.log: holds no line of NCCL"));
}

TEST_CASE("NCCL's lines cut anywhere are read as far as they go") {
  for (std::size_t end = 0; end <= two_machines.size(); ++end) {
    message_of([&] {
      const NcclInfo info = read_nccl_info_text("run.log", two_machines.substr(0, end));
      if (info.channels("NET") > 2) FAIL("more channels than there are");
    });
  }
  CHECK(read_nccl_info_text("run.log", two_machines).channels("NET") == 2);
}
