#include "model/io/p2p_log.h"

#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

const std::string blocked = R"([NVIDIA GeForce RTX 3090, pciBusID: 1, pciDeviceID: 0, pciDomainID:0]
Device=0 CANNOT Access Peer Device=1
P2P Connectivity Matrix
     D\D     0     1
     0	     1     0
     1	     0     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 832.58  11.42
     1  11.37 835.01
Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 832.58  16.10
     1  16.00 835.01
P2P=Disabled Latency Matrix (us)
   GPU     0      1
     0   1.55  12.90
     1  13.00   1.60

   CPU     0      1
     0   2.55  99.90
     1  99.00   2.60
)";

std::string allowed() {
  std::string text = blocked;
  text.replace(text.find("     0\t     1     0"), 18, "     0\t     1     1");
  text.replace(text.find("     1\t     0     1"), 18, "     1\t     1     1");
  return text +
         "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n"
         "   D\\D     0      1\n     0 832.58  50.0\n     1  52.0 835.01\n";
}

}  // namespace

TEST_CASE("pairs that may not reach each other are rated by their staged copies") {
  const CollectiveLog log = read_p2p_log("p2p.txt", blocked);
  CHECK(log.ranks == 2);
  CHECK(log.transports == std::vector<std::string>{"SHM"});
  // The slowest pair moves 16 GB/s both ways together: 8 each.
  CHECK(log.rows.back().busbw_GBps == Approx(8).epsilon(0.01));
  // Two starts of 13 us, and 1 KiB.
  CHECK(log.rows.front().time_us == Approx(26.1).epsilon(0.01));
}

TEST_CASE("pairs that may are rated with P2P enabled") {
  const CollectiveLog log = read_p2p_log("p2p.txt", allowed());
  CHECK(log.transports == std::vector<std::string>{"P2P"});
  CHECK(log.rows.back().busbw_GBps == Approx(25).epsilon(0.01));
}

TEST_CASE("a log cut off before its bandwidths is refused") {
  CHECK_THAT(message_of([] {
               read_p2p_log("p2p.txt", blocked.substr(0, blocked.find("Unidirectional") + 60));
             }),
             match::ContainsSubstring("no whole bandwidth matrix"));
}

TEST_CASE("the general reader knows such a log") {
  CHECK(looks_like_collective_log(blocked));
  CHECK(read_collective_log("p2p.txt", blocked).rows.size() > 5);
}

TEST_CASE("nvbandwidth's copies between cards are read, those to the host are not") {
  const std::string text = R"(Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.63     55.64

SUM host_to_device_memcpy_ce 111.27

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A     25.10
 1     24.90       N/A

SUM device_to_device_memcpy_read_ce 50.00
)";
  REQUIRE(looks_like_p2p_log(text));
  const CollectiveLog log = read_collective_log("nv.txt", text);
  CHECK(log.ranks == 2);
  CHECK(log.rows.back().busbw_GBps == Approx(24.9).epsilon(0.01));
  CHECK(log.transports.empty());
}
