#include "model/io/bench_log.h"

#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

TEST_CASE("the average that all_reduce_bench prints is one row") {
  const std::string text =
      "[pool-2dcc:0]:5\n"
      "[pool-2dcc:0]:The average bandwidth of all_reduce with a 4.0GB payload (5 trials, 16 "
      "ranks):\n"
      "[pool-2dcc:0]: algbw: 44.947 GBps (std: 0.013) (359.6 Gbps)\n"
      "[pool-2dcc:0]: busbw: 84.275 GBps (674.2 Gbps)\n";
  const CollectiveLog log = read_collective_log("x.log", text);
  CHECK(log.kind == CollectiveKind::all_reduce);
  CHECK(log.ranks == 16);
  REQUIRE(log.rows.size() == 1);
  CHECK(log.rows[0].bytes == 4e9);
  CHECK(log.rows[0].time_us == Approx(4e9 / 44.947e3));
  CHECK(log.rows[0].busbw_GBps == Approx(84.275).epsilon(1e-4));
}

TEST_CASE("the oldest all_reduce_bench counts the payload twice and prints every rank and trial") {
  // 4 GB in 0.1, 0.05 and 0.0499 s over four ranks: 640, 1280 and 1282.6 Gbps; busbw 3/4 of that.
  const std::string text =
      "gpu-a:0 data size: 4.0 GB\n"
      "-----------trial-0----------------\n"
      "gpu-a:0:\n duration: 0.1000 sec\n algo throughput: 640000000000.0 bps, 640.0000 Gbps\n"
      " busbw: 480.0000  Gbps\n"
      "gpu-a:1:\n duration: 0.0500 sec\n algo throughput: 1280000000000.0 bps, 1280.0000 Gbps\n"
      " busbw: 960.0000  Gbps\n"
      "gpu-a:2:\n duration: 0.0499 sec\n algo throughput: 1282.5651 Gbps\n busbw: 961.9238  Gbps\n";
  const CollectiveLog log = read_collective_log("x.log", text);
  CHECK(log.ranks == 4);
  REQUIRE(log.rows.size() == 1);
  CHECK(log.rows[0].bytes == 4e9);
  CHECK(log.rows[0].time_us == Approx(5e4));
  REQUIRE(log.skipped.size() == 1);
  CHECK(log.skipped[0] == "2 repeats of a size were taken by their median");
}

TEST_CASE("without its size the oldest layout's payload is rate times time") {
  const std::string text =
      " duration: 0.0500 sec\n algo throughput: 1280.0000 Gbps\n busbw: 960.0000  Gbps\n";
  const CollectiveLog log = read_collective_log("x.log", text);
  CHECK(log.rows.at(0).bytes == Approx(4e9));
  CHECK_THAT(message_of([] { read_collective_log("x.log", " algo throughput: 1323.6244 Gbps\n"); }),
             match::ContainsSubstring("no row of a collective test"));
}

TEST_CASE("DeepSpeed's lines are told apart by operation, and their ranks by the rates") {
  // 64 ranks: 63/64 = 0.9844. An all-reduce's rate counts twice: 100 Gbps over 80 ms are 0.5 GB.
  const std::string line =
      "[2026-01-05 01:39:55,722] [INFO] [logging.py:69:log_dist] [Rank 0] rank=0 | comm op: ";
  const std::string text = line +
                           "all_reduce | time (ms): 80.00 | msg size: 476.8 MB | algbw (Gbps): "
                           "100.00  | busbw (Gbps): 98.44\n" +
                           line +
                           "all_reduce | time (ms): 82.00 | msg size: 476.8 MB | algbw (Gbps): "
                           "97.56  | busbw (Gbps): 96.04\n" +
                           line +
                           "broadcast | time (ms): 9.46 | msg size: 678.86 MB | algbw (Gbps): "
                           "1204.52  | busbw (Gbps): 1204.52\n" +
                           line +
                           "reduce_scatter_tensor | time (ms): 9.46 | msg size: 678.86 MB | algbw "
                           "(Gbps): 1204.52  | busbw (Gbps): 1185.70\n";
  const CollectiveLog log = read_collective_log("x.log", text);
  CHECK(log.kind == CollectiveKind::all_reduce);
  CHECK(log.ranks == 64);
  REQUIRE(log.rows.size() == 1);
  CHECK(log.rows[0].bytes == Approx(0.5e9).epsilon(1e-3));
  CHECK_THAT(log.skipped.at(1), match::ContainsSubstring("2 rows of other operations"));
  CHECK_THAT(log.skipped.at(2), match::ContainsSubstring("slowest rank"));
}

TEST_CASE("DeepSpeed's summary is read; without ranks it is refused") {
  const std::string head =
      "Comm. Op            Message Size        Count               Total Latency(ms)   Avg "
      "Latency(ms)"
      "     tput_avg (Gbps)     busbw_avg (Gbps)\n"
      "all_gather_into_tensor\n"
      "                    128.0 B             6                   0.61                0.10"
      "                0.02                0.02\n"
      "                    1.45 GB             2                   271.89              135.94"
      "              91.40               ";
  const CollectiveLog log = read_collective_log("x.log", head + "79.98\n");
  CHECK(log.kind == CollectiveKind::all_gather);
  CHECK(log.ranks == 8);  // 79.98 / 91.40 = 0.875
  CHECK(log.rows.back().bytes == Approx(91.40e9 / 8 * 0.13594));
  CHECK_THAT(message_of([&] { read_collective_log("x.log", head + "91.40\n"); }),
             match::ContainsSubstring("number of ranks is not said"));
}
