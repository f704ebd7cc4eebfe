// Times work of a step beside communication: how much each slows the other.
#include <iostream>
#include <string>

#include "calibrate/cuda/session.h"
#include "calibrate/measure/run_main.h"
#include "calibrate/overlap/works.h"

namespace stepsight::calibrate {
namespace {

constexpr std::int64_t mib = 1LL << 20;

constexpr Tool tool{
    .name = "calibrate_overlap",
    .summary = "times matrix products and memory-bound kernels while copies or collectives run",
    .example = "calibrate_overlap --quick -o h200_overlap.json",
    .quick_budget_s = 15,
    .full_budget_s = 90,
    .extras = {},
};

constexpr std::string_view method =
    "instances back to back in a window of 4 ms or more, events, while the other work runs without "
    "a "
    "pause from before its begin to after its end; streams held until all is issued; median and "
    "quartiles of windows, slowest GPU; rate = alone / beside";

// A square product that fills the card for long, and the short one of a small layer.
constexpr GemmShape large_gemm{.m = 8192, .n = 8192, .k = 8192};
constexpr GemmShape small_gemm{.m = 4096, .n = 4096, .k = 1024};

std::vector<std::int64_t> bucket_sizes(bool full) {
  // 25 MiB is the gradient bucket that frameworks start from.
  if (full) return {mib, 4 * mib, 25 * mib, 100 * mib, 400 * mib};
  return {25 * mib, 200 * mib};
}

std::vector<Work> step_works(const std::vector<int>& devices) {
  return {gemm_work(devices, "gemm_8192", large_gemm),
          gemm_work(devices, "gemm_4096_4096_1024", small_gemm),
          memory_work(devices, 512 * mib)};
}

std::vector<Work> one_gpu_transfers(int device, bool full) {
  std::vector<Work> works;
  for (const std::int64_t bytes : bucket_sizes(full)) {
    for (const HostCopy kind : {HostCopy::loopback, HostCopy::d2h, HostCopy::h2d}) {
      works.push_back(host_copy_work(device, kind, bytes));
    }
  }
  for (const int blocks : {8, 16, 32}) works.push_back(few_blocks_work(device, 256 * mib, blocks));
  return works;
}

Record shape_record(const Work& work, const Work& beside) {
  return {field("work", work.name),
          field("work_bytes", work.bytes),
          field("beside", beside.name),
          field("beside_bytes", beside.bytes),
          field("gpus", work.devices.size())};
}

void list(const Options& options) {
  std::cout << "work,beside,bytes\n";
  for (const char* work : {"gemm_8192", "gemm_4096_4096_1024", "copy"}) {
    for (const char* beside :
         {"loopback", "d2h", "h2d", "all_reduce", "all_gather", "reduce_scatter"}) {
      for (const std::int64_t bytes : bucket_sizes(options.full)) {
        std::cout << work << ',' << beside << ',' << bytes << '\n';
      }
    }
    for (const int blocks : {8, 16, 32}) {
      std::cout << work << ",copy_by_" << blocks << "_blocks," << 256 * mib << '\n';
    }
  }
}

void add_point(
    Session& session, const Work& work, const Work& beside, double work_us, double beside_us) {
  const Record shape = shape_record(work, beside);
  const std::string op = work.role + "_under_" + beside.role;
  if (session.log().has(op, shape)) return;
  const auto together = time_beside(work, work_us, beside, beside_us);
  if (!together) return;
  session.log().add(
      {.op = op,
       .shape = shape,
       .time_us = *together,
       .results = {field("alone_us", work_us), field("rate", work_us / together->median)}});
}

// Every kind of work beside every transfer, and each transfer beside each kind of work.
bool measure_pairs(Session& session,
                   const std::vector<Work>& works,
                   const std::vector<Work>& transfers) {
  std::vector<double> works_us;
  for (const Work& work : works) works_us.push_back(time_alone(work).median);
  std::size_t done = 0;
  for (const Work& transfer : transfers) {
    const double transfer_us = time_alone(transfer).median;
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (!session.go_on()) return false;
      session.progress().show(
          ++done, works.size() * transfers.size(), works[i].name + " beside " + transfer.name);
      add_point(session, works[i], transfer, works_us[i], transfer_us);
      add_point(session, transfer, works[i], transfer_us, works_us[i]);
    }
  }
  return true;
}

void measure(const Tool& self, const Options& options) {
  Session session(self, options, options.device, method, true);
  const std::string nccl = collective_library();
  session.add_library("nccl", nccl.empty() ? "none" : nccl);
  bool all = measure_pairs(
      session, step_works({options.device}), one_gpu_transfers(options.device, options.full));
  std::vector<int> devices;
  for (const Device& device : require_gpus()) devices.push_back(device.index);
  const std::vector<Work> collectives = collective_works(devices, bucket_sizes(options.full));
  if (all && !collectives.empty()) {
    all = measure_pairs(session, step_works(devices), collectives);
  }
  session.finish(all);
}

}  // namespace
}  // namespace stepsight::calibrate

int main(int argc, char** argv) {
  namespace self = stepsight::calibrate;
  return self::run_main(self::tool, argc, argv, self::list, self::measure);
}
