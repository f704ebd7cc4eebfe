// Traces larger than memory should need: the program's peak resident memory while it reads a
// profiler's trace of a quarter and of a whole gigabyte (as text; gzipped on disk).
#include <filesystem>
#include <limits>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/bench/bench.h"

namespace stepsight::bench {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int kernels_of_step = 3000;
constexpr double step_us = 30'000;

void add_event(std::string& out,
               const char* category,
               const std::string& name,
               double start,
               double duration,
               const std::string& more) {
  out += R"({"ph": "X", "cat": ")" + std::string(category) + R"(", "name": ")" + name +
         R"(", "pid": 1, "tid": 7, "ts": )" + std::to_string(start) + R"(, "dur": )" +
         std::to_string(duration) + R"(, "args": {)" + more + "}},\n";
}

// Operators, launches and kernels as Kineto writes them, one NCCL kernel in ten.
std::string step_text(int step) {
  const double at = step * step_us;
  std::string out;
  add_event(out, "user_annotation", "ProfilerStep#" + std::to_string(step), at, step_us, "");
  for (int i = 0; i < kernels_of_step; ++i) {
    const double start = at + 10.0 * i;
    const std::string id = std::to_string(step * kernels_of_step + i);
    const std::string ids = R"("External id": )" + id + R"(, "correlation": )" + id;
    add_event(out,
              "cpu_op",
              "aten::addmm",
              start,
              4,
              R"("External id": )" + id +
                  R"(, "Input Dims": [[2304], [8192, 768], [768, 2304], [], []])");
    add_event(out, "cuda_runtime", "cudaLaunchKernel", start + 1, 2, ids);
    const bool collective = i % 10 == 9;
    add_event(out,
              "kernel",
              collective
                  ? "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                  : "nvjet_tst_192x192_64x4_2x1_v_bz_coopA_NTT",
              start + 5,
              8,
              ids + R"(, "device": 0, "stream": 7)");
  }
  return out;
}

// Deleted with its folder at the end of the process.
struct TraceFile {
  std::filesystem::path path;
  explicit TraceFile(double gigabytes)
      : path(std::filesystem::temp_directory_path() /
             ("stepsight_bench_" + std::to_string(::getpid()) + "_" + std::to_string(gigabytes) +
              ".json.gz")) {
    gzFile file = gzopen(path.c_str(), "wb1");
    const std::string head =
        R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}], "traceEvents": [)";
    gzwrite(file, head.data(), static_cast<unsigned>(head.size()));
    double written = 0;
    for (int step = 0; written < gigabytes * 1e9; ++step) {
      const std::string text = step_text(step);
      gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
      written += static_cast<double>(text.size());
    }
    const std::string tail = R"({"ph": "M", "name": "end"}]})";
    gzwrite(file, tail.data(), static_cast<unsigned>(tail.size()));
    gzclose(file);
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() { std::filesystem::remove(path); }
};

// Of `program import FILE`, in megabytes; NaN where it fails.
double peak_MB(const std::string& program, const std::filesystem::path& file) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::execl(program.c_str(), program.c_str(), "import", file.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  struct rusage usage {};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child || status != 0) return nan;
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

double peak_of(const BenchContext& context, double gigabytes) {
  if (context.program.empty()) return nan;
  const TraceFile file(gigabytes);
  return peak_MB(context.program, file.path);
}

double quarter(const BenchContext& context) {
  return peak_of(context, 0.25);
}
double whole(const BenchContext& context) {
  return peak_of(context, 1);
}

// A trace of any size takes as much memory as one step of it: both within the goal that 4 GB have.
const int registered[] = {
    add_bench({"trace: memory to read 0.25 GB", 100, "MB", Better::lower, quarter}),
    add_bench({"trace: memory to read 1 GB", 100, "MB", Better::lower, whole}),
};

}  // namespace
}  // namespace stepsight::bench
