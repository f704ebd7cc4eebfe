// Reads measurements of every layout that the project takes, told apart by what they hold:
//   *.json   own measurement files (calibrate/MEASUREMENT.md)
//   *.jsonl  operator points timed one launch at a time from the host
//   *.csv    GEMM tables (m,n,k,dtype,time_us) and collective sweeps (size_bytes,op,type,time_us)
//   others   logs of nccl-tests and tables of all_reduce_bench (model/io/nccl_log.h)
// Each of them may be gzipped.
#pragma once
#include <cstdint>
#include <string>

#include "model/measurements.h"

namespace stepsight {

// Adds the points of a file. A sweep names its number of ranks in its file name ("..._8gpu.csv").
// Throws UserError with every mistake of the file; `into` is unchanged then.
void read_measurements(const std::string& path, Measurements& into);

// The parts, by layout. `source` is the file's index.
void read_measurement_json(const std::string& file,
                           std::string_view text,
                           std::uint32_t source,
                           Measurements& into);
void read_host_timed_operators(const std::string& file,
                               std::string_view text,
                               std::uint32_t source,
                               Measurements& into);
void read_gemm_table(const std::string& file,
                     std::string_view text,
                     std::uint32_t source,
                     Measurements& into);
void read_collective_sweep(const std::string& file,
                           std::string_view text,
                           std::uint32_t source,
                           Measurements& into);

// "bf16", and "bfloat16" and the like as other tools write them.
std::optional<Dtype> parse_foreign_dtype(std::string_view name);

}  // namespace stepsight
