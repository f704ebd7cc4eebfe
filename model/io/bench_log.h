// Collectives as PyTorch programs time and print them, beside nccl-tests:
//
//   stas00's all_reduce_bench.py, in three layouts: a table of payload, busbw and algbw; "The
//   average bandwidth of all_reduce with a 4.0GB payload (5 trials, 16 ranks)" and two lines of
//   bandwidth; and, oldest, each rank's "duration", "algo throughput" (twice the payload over the
//   time) and "busbw" in Gbps, a trial each.
//
//   DeepSpeed's comms logger, line by line ("| comm op: all_reduce | time (ms): ..") or as its
//   summary table. Its times hold the wait for the slowest rank.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "model/io/nccl_log.h"

namespace stepsight {

bool looks_like_bench_log(std::string_view text);

// Times are the message over the printed bandwidth, which has more digits. UserError when there is
// no whole result, or when neither the text nor busbw over algbw tells the ranks. Of DeepSpeed's
// log the collective that took most time is kept; the others are named in `skipped`.
CollectiveLog read_bench_log(const std::string& file, std::string_view text);

}  // namespace stepsight
