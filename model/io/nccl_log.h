// What people have of their links: the text that nccl-tests (and rccl-tests) prints and its JSON
// file; also what PyTorch programs print (model/io/bench_log.h) and CUDA's tests of pairs
// (model/io/p2p_log.h).
//
// Taken as they come: old and new headers or none at all, '#' stripped, ANSI colours, prefixes of
// mpirun, SLURM or a host in front of each line, NCCL_DEBUG lines between the rows, \r\n, cut-off
// ends. The number of ranks is that of the device list, or else what busbw / algbw says.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/collective.h"
#include "model/measurements.h"

namespace stepsight {

struct CollectiveLogRow {
  double bytes = 0;       // of the message, as model/collective.h counts it
  double time_us = 0;     // out of place; in place where there is nothing else
  double busbw_GBps = 0;  // computed from size and time, not as printed (three digits)
};

struct CollectiveLog {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t ranks = 0;
  std::int64_t nodes = 1;               // hosts of the device list
  std::string gpu;                      // as the device list names it; empty without one
  std::vector<CollectiveLogRow> rows;   // of floating-point types, in the order of the log
  std::vector<std::string> transports;  // "P2P/CUMEM", "SHM/direct", "NET/Socket", each once
  std::vector<std::string> skipped;     // "12 rows of integer types", "a cut-off row"
};

// True when the text is worth giving to read_collective_log.
bool looks_like_collective_log(std::string_view text);

// UserError when there is no row, when every busbw is zero (one rank, or N copies of one rank
// because the tests were built without MPI), when the collective is another one (broadcast, reduce,
// ...) or cannot be told, or when the ranks cannot. The name of the file may say which collective
// it is.
CollectiveLog read_collective_log(const std::string& file, std::string_view text);

// Adds the rows as points.
void add_collective_log(const std::string& file,
                        std::string_view text,
                        std::uint32_t source,
                        Measurements& into);

}  // namespace stepsight
