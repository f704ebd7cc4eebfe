#include "model/io/nccl_log.h"

#include "model/io/measurement_files.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

const std::string current = R"(# nccl-tests version 2.17.6 nccl-headers=22703 nccl-library=22703
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 1048576 maxBytes 134217728 step: 8(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid  41001 on      gpu-a device  0 [0000:01:00] NVIDIA GeForce RTX 4090
#  Rank  1 Group  0 Pid  41001 on      gpu-a device  1 [0000:21:00] NVIDIA GeForce RTX 4090
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    283.1    3.70    3.70       0    281.9    3.72    3.72       0
     8388608       2097152     float     sum      -1   1712.4    4.90    4.90       0   1709.0    4.91    4.91       0
    67108864      16777216     float     sum      -1    12610    5.32    5.32       0    12598    5.33    5.33       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 4.65167
)";

const std::string old = R"(# nThread 1 nGpus 8 minBytes 32 maxBytes 8589934592 step: 2(factor)
# Using devices
#   Rank  0 Pid  30001 on gpu-a device  0 [0x16] Tesla V100-SXM2-32GB
#   Rank  7 Pid  30001 on gpu-a device  7 [0xb9] Tesla V100-SXM2-32GB
#
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
          32             8   float     sum    25.10    0.00    0.00  0e+00    24.80    0.00    0.00  0e+00
  1073741824     268435456   float     sum  1.4e+04   76.70  134.22  2e-07    14001   76.69  134.21  2e-07
)";

std::string without(std::string text, const std::string& part) {
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part)) {
    text.erase(at, part.size());
  }
  return text;
}

std::string prefixed(const std::string& text, const std::string& prefix) {
  std::string out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    out += prefix + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return out;
}

void check_current(const CollectiveLog& log) {
  CHECK(log.kind == CollectiveKind::all_reduce);
  CHECK(log.ranks == 2);
  REQUIRE(log.rows.size() == 3);
  CHECK(log.rows[0].bytes == 1048576);
  CHECK(log.rows[0].time_us == Approx(283.1));
  CHECK(log.rows[2].time_us == Approx(12610));
  CHECK(log.rows[2].busbw_GBps == Approx(5.3219).epsilon(1e-3));
}

}  // namespace

TEST_CASE("the log of today's nccl-tests is read") {
  const CollectiveLog log = read_collective_log("a.log", current);
  check_current(log);
  CHECK(log.nodes == 1);
  CHECK(log.gpu == "NVIDIA GeForce RTX 4090");
}

TEST_CASE("a pasted log reads as the one it was") {
  check_current(read_collective_log("a.log", without(current, "#")));
  check_current(read_collective_log("a.log", prefixed(current, "[1,0]<stdout>:")));
  check_current(read_collective_log("a.log", prefixed(current, "gpu-a: ")));
  check_current(read_collective_log("a.log", prefixed(current, "0: ")));
  check_current(read_collective_log("a.log", prefixed(current, "2026-01-05T10:00:01.1234Z ")));
  check_current(read_collective_log("a.log", prefixed(current, "\x1b[32m\x1b[0m")));
  std::string dos = current;
  for (std::size_t at = dos.find('\n'); at != dos.npos; at = dos.find('\n', at + 2)) {
    dos.insert(at, "\r");
  }
  check_current(read_collective_log("a.log", dos));
}

TEST_CASE("rows alone tell the ranks by busbw over algbw, and the file's name the collective") {
  const std::string rows =
      "  1073741824     268435456   float     sum      -1    14000   76.70  134.22       0\n"
      "  2147483648     536870912   float     sum      -1    28000   76.70  134.22       0\n";
  const CollectiveLog log = read_collective_log("x.txt", rows);
  CHECK(log.kind == CollectiveKind::all_reduce);  // busbw exceeds algbw
  CHECK(log.ranks == 8);                          // 134.22 / 76.70 = 1.75
  const std::string gathers =
      "  1073741824     33554432   float    none      -1    4000   268.4  234.9       0\n";
  CHECK(read_collective_log("all_gather.txt", gathers).ranks == 8);  // 7 / 8
  CHECK_THAT(message_of([&] { read_collective_log("x.txt", gathers); }),
             match::ContainsSubstring("which collective"));
}

TEST_CASE("the old layout has no root and an error column") {
  const CollectiveLog log = read_collective_log("a.log", old);
  CHECK(log.ranks == 8);
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[1].time_us == Approx(14000));
  CHECK(log.gpu == "Tesla V100-SXM2-32GB");
}

TEST_CASE("NCCL's own lines between the rows say how the cards talk") {
  std::string text = current;
  const std::size_t at = text.find("     8388608");
  text.insert(at,
              "gpu-a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n"
              "gpu-a:1:2 [0] NCCL INFO Channel 01/0 : 1[1] -> 0[0] [send] via NET/IB/3/GDRDMA\n"
              "gpu-a:1:2 [0] NCCL INFO Launch mode Parallel\n");
  const CollectiveLog log = read_collective_log("a.log", text);
  check_current(log);
  CHECK(log.transports == std::vector<std::string>{"NET/IB/GDRDMA", "SHM/direct/direct"});
}

TEST_CASE("N copies of one rank are named as such") {
  const std::string one = R"(# nThread 1 nGpus 1 minBytes 8
#   Rank  0 Pid  1 on gpu-a device  0 [0x16] NVIDIA H100
#       size         count    type   redop    root     time   algbw   busbw #wrong
     1048576        262144   float     sum      -1    6.100  171.90    0.00      0
)";
  CHECK_THAT(message_of([&] { read_collective_log("a.log", one); }),
             match::ContainsSubstring("bus bandwidth is 0"));
  CHECK_THAT(message_of([&] { read_collective_log("a.log", one + one); }),
             match::ContainsSubstring("2 copies of one rank"));
}

TEST_CASE("another collective is refused by its name") {
  CHECK_THAT(message_of([&] {
               std::string text = without(current, "all_reduce_perf");
               text.insert(0, "# Collective test starting: broadcast_perf\n");
               read_collective_log("a.log", text);
             }),
             match::ContainsSubstring("broadcast_perf"));
}

TEST_CASE("a log that was cut off gives the rows that are whole") {
  const std::string cut = current.substr(0, current.find("12610"));
  const CollectiveLog log = read_collective_log("a.log", cut);
  CHECK(log.rows.size() == 2);
  REQUIRE(log.skipped.size() == 1);
  CHECK_THAT(log.skipped.front(), match::ContainsSubstring("1 rows are cut off"));
}

TEST_CASE("rows among lines of something else are read, and the lines are counted") {
  std::string text = current;
  for (int i = 0; i < 5000; ++i) text += "step " + std::to_string(i) + " float 12 is no row\n";
  const CollectiveLog clean = read_collective_log("all_reduce.log", current);
  const CollectiveLog log = read_collective_log("all_reduce.log", text);
  CHECK(clean.skipped.empty());
  CHECK(log.rows.size() == clean.rows.size());
  REQUIRE(log.skipped.size() == 1);
  CHECK_THAT(log.skipped[0], match::ContainsSubstring("lines are no rows of a test"));
}

TEST_CASE("integer sums and rows in place only are told apart") {
  std::string text = current;
  text += "    67108864      67108864      int8     sum      -1    9000    7.45    7.45       0\n";
  CHECK(read_collective_log("a.log", text).rows.size() == 3);
  std::string in_place = current;
  in_place.replace(in_place.find("283.1    3.70    3.70"), 21, "  N/A     N/A     N/A");
  CHECK(read_collective_log("a.log", in_place).rows[0].time_us == Approx(281.9));
}

TEST_CASE("several hosts in the device list are several machines") {
  std::string text = current;
  text.replace(text.find("on      gpu-a device  1"), 23, "on      gpu-b device  0");
  CHECK(read_collective_log("a.log", text).nodes == 2);
}

TEST_CASE("the JSON of nccl-tests is read as its text is") {
  const std::string json = R"({"version": "2.17.6", "args": ["./build/all_gather_perf", "-g", "2"],
    "devices": [{"rank": 0, "hostname": "a", "device_info": "NVIDIA H100"},
                {"rank": 1, "hostname": "a", "device_info": "NVIDIA H100"}],
    "results": [{"size": 1048576, "type": "float",
                 "out_of_place": {"time": 20.5, "alg_bw": 51.1, "bus_bw": 25.6, "nwrong": 0}}],
    "average_bus_bandwidth": {"bandwidth": 25.6}})";
  const CollectiveLog log = read_collective_log("a.json", json);
  CHECK(log.kind == CollectiveKind::all_gather);
  CHECK(log.ranks == 2);
  REQUIRE(log.rows.size() == 1);
  CHECK(log.rows[0].time_us == Approx(20.5));
}

TEST_CASE("all_reduce_bench's table is read in its units") {
  const std::string table =
      "| payload |    busbw   |    algbw   |\n"
      "| ------: | ---------: | ---------: |\n"
      "|   32KiB |   1.44GBps |   0.82GBps |\n"
      "|   16GiB | 482.26GBps | 275.58GBps |\n";
  const CollectiveLog log = read_collective_log("bench.txt", table);
  CHECK(log.kind == CollectiveKind::all_reduce);
  CHECK(log.ranks == 8);  // 482.26 / 275.58 = 1.75
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[1].bytes == 17179869184.0);
  CHECK(log.rows[1].time_us == Approx(17179869184.0 / 275.58e3));
}

TEST_CASE("text without a row is no log") {
  CHECK_THAT(message_of([] { read_collective_log("a.log", "busbw of everything\n"); }),
             match::ContainsSubstring("no row"));
  CHECK_FALSE(looks_like_collective_log("Dear Sir, floats on behalf of half the fleet\n"));
}

TEST_CASE(
    "an all-to-all without checks in place, and per-iteration columns, are read by their header") {
  const std::string header =
      "#  Rank  0 Group  0 Pid  1 on  a device  0 [0000:01:00] X\n"
      "#  Rank  1 Group  0 Pid  1 on  a device  1 [0000:02:00] X\n";
  const CollectiveLog plain = read_collective_log(
      "alltoall.log",
      header +
          "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
          "  1048576  131072  float  none  -1  100.0  10.49  5.24  0  101.0  10.38  5.19  N/A\n");
  CHECK(plain.kind == CollectiveKind::all_to_all);
  REQUIRE(plain.rows.size() == 1);
  CHECK(plain.rows[0].time_us == Approx(100));
  // The ranks are told by busbw / algbw = 1, wherever the two stand.
  const CollectiveLog iterations = read_collective_log(
      "all_reduce.log",
      "# size count type redop root time min max p99 cv algbw busbw #wrong\n"
      "  1048576  262144  float  sum  -1  283.1  270.0  300.0  299.0  0.02  3.70  3.70  0\n");
  REQUIRE(iterations.rows.size() == 1);
  CHECK(iterations.ranks == 2);
  CHECK(iterations.rows[0].time_us == Approx(283.1));
  CHECK(iterations.rows[0].busbw_GBps == Approx(3.704).epsilon(1e-3));
}
