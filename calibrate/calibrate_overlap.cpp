// Times work of a step beside communication: how much each slows the other.
#include <array>
#include <iostream>
#include <string>

#include "calibrate/cuda/check.h"
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

// A square product that fills the card for long, a transformer's (8 x 1024 tokens, width 1280 to
// 5120), and the short one of a small layer.
struct NamedGemm {
  const char* name;
  GemmShape shape;
};
constexpr std::array<NamedGemm, 3> gemms{{
    {"gemm_8192", {.m = 8192, .n = 8192, .k = 8192}},
    {"gemm_8192_5120_1280", {.m = 8192, .n = 5120, .k = 1280}},
    {"gemm_4096_4096_1024", {.m = 4096, .n = 4096, .k = 1024}},
}};

// Forward products of transformers, from those that fill the card less than once to a dozen rounds
// of tiles: beside a collective, which takes multiprocessors away, the shorter ones lose more.
constexpr std::array<NamedGemm, 11> gemm_ladder{{
    {"gemm_2048_1024_4096", {.m = 2048, .n = 1024, .k = 4096}},
    {"gemm_2048_2048_4096", {.m = 2048, .n = 2048, .k = 4096}},
    {"gemm_2048_3072_3072", {.m = 2048, .n = 3072, .k = 3072}},
    {"gemm_8192_768_3072", {.m = 8192, .n = 768, .k = 3072}},
    {"gemm_2048_4096_4096", {.m = 2048, .n = 4096, .k = 4096}},
    {"gemm_4096_3072_3072", {.m = 4096, .n = 3072, .k = 3072}},
    {"gemm_4096_4096_4096", {.m = 4096, .n = 4096, .k = 4096}},
    {"gemm_8192_2304_768", {.m = 8192, .n = 2304, .k = 768}},
    {"gemm_2048_11008_4096", {.m = 2048, .n = 11008, .k = 4096}},
    {"gemm_8192_4096_4096", {.m = 8192, .n = 4096, .k = 4096}},
    {"gemm_8192_6144_2048", {.m = 8192, .n = 6144, .k = 2048}},
}};

std::vector<std::int64_t> copy_sizes(bool full) {
  // 25 MiB is the gradient bucket that frameworks start from.
  if (full) return {25 * mib, 400 * mib, 4 * mib};
  return {25 * mib, 200 * mib};
}

std::vector<Work> step_works(const std::vector<int>& devices) {
  std::vector<Work> works;
  for (const NamedGemm& g : gemms) works.push_back(gemm_work(devices, g.name, g.shape));
  works.push_back(memory_work(devices, 512 * mib));
  return works;
}

std::vector<Work> ladder_works(const std::vector<int>& devices) {
  std::vector<Work> works;
  for (const NamedGemm& g : gemm_ladder) works.push_back(gemm_work(devices, g.name, g.shape));
  return works;
}

std::vector<Work> one_gpu_transfers(int device, bool full) {
  std::vector<Work> works;
  for (const std::int64_t bytes : copy_sizes(full)) {
    for (const HostCopy kind : {HostCopy::loopback, HostCopy::d2h, HostCopy::h2d}) {
      works.push_back(host_copy_work(device, kind, bytes));
    }
  }
  for (const int blocks : {8, 16, 32}) works.push_back(few_blocks_work(device, 256 * mib, blocks));
  return works;
}

Record shape_record(const Work& work, const Work& beside) {
  Record record{field("work", work.name),
                field("work_bytes", work.bytes),
                field("beside", beside.name),
                field("beside_bytes", beside.bytes),
                field("gpus", work.devices.size())};
  if (work.role == "collective" || beside.role == "collective") {
    record.push_back(field("channels", work.channels + beside.channels));  // one of them is none
  }
  return record;
}

void list(const Options& options) {
  std::cout << "work,beside,bytes,channels\n";
  const auto beside_all = [](const auto& text) {
    for (const NamedGemm& g : gemms) std::cout << g.name << text;
    std::cout << "copy" << text;
  };
  for (const ChannelGroup& group : collective_settings(options.full)) {
    for (const CollectiveSetting& c : group.settings) {
      beside_all(',' + std::string(info(c.kind).name) + ',' + std::to_string(c.bytes) + ',' +
                 std::to_string(c.channels) + '\n');
    }
  }
  if (options.full) {
    const CollectiveSetting& c = collective_settings(true).front().settings.front();
    for (const NamedGemm& g : gemm_ladder) {
      std::cout << g.name << ',' << info(c.kind).name << ',' << c.bytes << ",0\n";
    }
  }
  for (const std::int64_t bytes : copy_sizes(options.full)) {
    for (const char* copy : {"loopback", "d2h", "h2d"}) {
      beside_all(',' + std::string(copy) + ',' + std::to_string(bytes) + ",0\n");
    }
  }
  for (const int blocks : {8, 16, 32}) {
    beside_all(",copy_by_" + std::to_string(blocks) + "_blocks," + std::to_string(256 * mib) +
               ",0\n");
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

// Collectives over all GPUs with one number of channels, beside each kind of work. False when to
// stop.
bool measure_group(Session& session,
                   const std::vector<int>& devices,
                   const std::vector<Work>& works,
                   const ChannelGroup& group) {
  if (!session.go_on()) return false;
  std::vector<Work> collectives;
  try {
    collectives = collective_works(devices, group);
  } catch (const GpuError& error) {
    // A number of channels that this library or machine does not take costs its own points alone.
    if (group.channels == 0) throw;
    std::cerr << "calibrate_overlap: " << group.channels << " channels: " << error.what() << '\n';
    return true;
  }
  return measure_pairs(session, works, collectives);
}

void measure(const Tool& self, const Options& options) {
  Session session(self, options, options.device, method, true);
  const std::string nccl = collective_library();
  session.add_library("nccl", nccl.empty() ? "none" : nccl);
  std::vector<int> devices;
  for (const Device& device : require_gpus()) devices.push_back(device.index);
  const bool several = devices.size() > 1;
  const std::vector<ChannelGroup> groups = collective_settings(options.full);
  const std::vector<Work> works = several ? step_works(devices) : std::vector<Work>{};
  // What a step meets comes first; what a choice of channels would change comes last.
  bool all = !several || measure_group(session, devices, works, groups.front());
  if (several && all && options.full) {
    ChannelGroup largest = groups.front();
    largest.settings.resize(1);
    all = measure_group(session, devices, ladder_works(devices), largest);
  }
  all = all &&
        measure_pairs(
            session, step_works({options.device}), one_gpu_transfers(options.device, options.full));
  for (std::size_t i = 1; several && all && i < groups.size(); ++i) {
    all = measure_group(session, devices, works, groups[i]);
  }
  session.finish(all);
}

}  // namespace
}  // namespace stepsight::calibrate

int main(int argc, char** argv) {
  namespace self = stepsight::calibrate;
  return self::run_main(self::tool, argc, argv, self::list, self::measure);
}
