// Times memory traffic over sizes that live in the L2 and sizes that do not.
#include <algorithm>
#include <array>
#include <iostream>
#include <string>
#include <vector>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/kernels.h"
#include "calibrate/cuda/resources.h"
#include "calibrate/cuda/session.h"
#include "calibrate/cuda/timing.h"
#include "calibrate/measure/run_main.h"
#include "calibrate/measure/sizes.h"

namespace stepsight::calibrate {
namespace {

constexpr std::int64_t smallest = 64LL << 10;
constexpr std::int64_t largest = 8LL << 30;
// So many arrays of 64 KiB are four times an L2 of 64 MiB.
constexpr std::int64_t most_launches = 4096;
// Copies of 512 MiB to 2 GiB ran at 2.7 TB/s as nodes of a graph, those of 4 and 8 GiB on a stream
// at 4.3 (H200, driver 580). Programs have them on a stream; from here on they keep the host ahead
// there.
constexpr std::int64_t largest_graph_copy = 64LL << 20;

constexpr Tool tool{
    .name = "calibrate_hbm",
    .summary = "times reading, writing, copying and adding arrays from 64 KiB to 8 GiB",
    .example = "calibrate_hbm --quick -o h200_hbm.json",
    .quick_budget_s = 10,
    .full_budget_s = 40,
    .extras = {},
};

constexpr std::string_view method =
    "kernels with 16-byte accesses, four a thread; hbm_memcpy = cudaMemcpyAsync on the device; "
    "normal "
    "random data; resident = the same arrays again and again, else rotated past 4 x L2; CUDA graph "
    "of launches (direct above 2 ms, and hbm_memcpy from 64 MiB on), start to start; median and "
    "quartiles of replays";

struct Traffic {
  std::string_view op;
  int reads;   // arrays
  int writes;  // arrays
  // arrays lie one after the other, `bytes` each, from `base` on
  void (*launch)(char* base, std::int64_t bytes, cudaStream_t stream);
};

// The sink of read_words: never written for random data, so any device address will do.
void read_array(char* base, std::int64_t bytes, cudaStream_t stream) {
  launch_read(base, bytes, reinterpret_cast<std::uint32_t*>(base), stream);
}
void write_array(char* base, std::int64_t bytes, cudaStream_t stream) {
  launch_write(base, bytes, stream);
}
void copy_array(char* base, std::int64_t bytes, cudaStream_t stream) {
  launch_copy(base, base + bytes, bytes, stream);
}
void memcpy_array(char* base, std::int64_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(
            base + bytes, base, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync");
}
void triad_arrays(char* base, std::int64_t bytes, cudaStream_t stream) {
  launch_triad(base, base + bytes, base + 2 * bytes, bytes, stream);
}

constexpr std::array<Traffic, 5> traffic{{
    {"hbm_copy", 1, 1, copy_array},
    {"hbm_memcpy", 1, 1, memcpy_array},
    {"hbm_triad", 2, 1, triad_arrays},
    {"hbm_read", 1, 0, read_array},
    {"hbm_write", 0, 1, write_array},
}};

struct Case {
  const Traffic* traffic;
  std::int64_t array_bytes;
  bool resident;
};

// Large and small sizes take turns, so that a run that is cut short has seen both the L2 and
// memory.
std::vector<Case> cases(bool full, std::int64_t l2_bytes) {
  std::vector<std::int64_t> sizes = size_ladder(smallest, largest, 2);
  std::vector<std::int64_t> order;
  for (const std::size_t step : {4U, 2U, 1U}) {
    for (std::size_t i = sizes.size(); i-- > 0;) {
      const bool seen = std::find(order.begin(), order.end(), sizes[i]) != order.end();
      if ((sizes.size() - 1 - i) % step == 0 && !seen) order.push_back(sizes[i]);
    }
    if (step == 2 && !full) break;
  }
  std::vector<Case> result;
  for (const std::int64_t size : order) {
    for (const Traffic& row : traffic) {
      result.push_back({&row, size, false});
      // Past a few times the L2 the same array again is as cold as another one.
      if (size * (row.reads + row.writes) <= 4 * l2_bytes) result.push_back({&row, size, true});
    }
  }
  return result;
}

Record shape_record(const Case& c) {
  return {field("array_bytes", c.array_bytes),
          field("bytes_read", c.array_bytes * c.traffic->reads),
          field("bytes_written", c.array_bytes * c.traffic->writes),
          field("resident", c.resident)};
}

void list(const Options& options) {
  constexpr std::int64_t l2_of_an_h200 = 60LL << 20;
  std::cout << "op,array_bytes,resident\n";
  for (const Case& c : cases(options.full, l2_of_an_h200)) {
    std::cout << c.traffic->op << ',' << c.array_bytes << ',' << (c.resident ? "yes" : "no")
              << '\n';
  }
}

struct Pool {
  Stream stream;
  DeviceMemory memory;
  std::int64_t bytes;
};

Pool make_pool() {
  const std::int64_t bytes = std::min(3 * largest, free_device_bytes() / 10 * 8) / 256 * 256;
  Pool pool{.stream = make_stream(), .memory = make_device_memory(bytes), .bytes = bytes};
  launch_fill_normal(Dtype::fp32, pool.memory.get(), bytes / 4, 1, pool.stream.get());
  check_launch("fill_normal");
  check(cudaStreamSynchronize(pool.stream.get()), "fill_normal");
  return pool;
}

Point measure_case(const Pool& pool, const Case& c, std::int64_t l2_bytes) {
  const std::int64_t set = c.array_bytes * (c.traffic->reads + c.traffic->writes);
  const std::int64_t room = std::min(most_launches, pool.bytes / set);
  const std::int64_t copies = c.resident ? 1 : rotation_copies(set, l2_bytes, room);
  const Launch launch = [&](cudaStream_t stream, std::int64_t i) {
    char* base = static_cast<char*>(pool.memory.get()) + i % copies * set;
    c.traffic->launch(base, c.array_bytes, stream);
    check_launch(c.traffic->op);
  };
  TimingPlan timing{.min_launches = copies, .max_launches = most_launches};
  timing.rule.budget_s = 0.05;
  timing.graph = c.traffic->launch != memcpy_array || c.array_bytes < largest_graph_copy;
  const GpuTime time = time_on_gpu(pool.stream.get(), launch, timing);
  return {.op = std::string(c.traffic->op),
          .shape = shape_record(c),
          .time_us = time.us,
          .results = {field("GBps", static_cast<double>(set) / time.us.median * 1e-3),
                      field("launches", time.launches),
                      field("copies", copies)}};
}

void measure(const Tool& self, const Options& options) {
  Session session(self, options, options.device, method, true);
  const std::int64_t l2_bytes = session.device().l2_bytes;
  const Pool pool = make_pool();
  const std::vector<Case> design = cases(options.full, l2_bytes);
  std::size_t done = 0;
  for (const Case& c : design) {
    if (!session.go_on()) break;
    session.progress().show(
        ++done, design.size(), std::string(c.traffic->op) + ' ' + format_size(c.array_bytes));
    if (c.array_bytes * (c.traffic->reads + c.traffic->writes) > pool.bytes) continue;
    if (session.log().has(std::string(c.traffic->op), shape_record(c))) continue;
    session.log().add(measure_case(pool, c, l2_bytes));
  }
  session.finish(done == design.size());
}

}  // namespace
}  // namespace stepsight::calibrate

int main(int argc, char** argv) {
  namespace self = stepsight::calibrate;
  return self::run_main(self::tool, argc, argv, self::list, self::measure);
}
