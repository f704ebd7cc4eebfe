// Times NCCL's collectives over message sizes and subsets of GPUs, and checks what they compute.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/session.h"
#include "calibrate/measure/run_main.h"
#include "calibrate/measure/sizes.h"
#include "calibrate/nccl/collective_timing.h"

namespace stepsight::calibrate {
namespace {

constexpr std::array<ExtraFlag, 5> extras{{
    {"--ops", "LIST", "collectives, comma-separated (default all)"},
    {"--min-bytes", "SIZE", "smallest message (default 1K)"},
    {"--max-bytes",
     "SIZE",
     "largest message (default 1G, with --full 8G; less if memory is short)"},
    {"--rendezvous", "FILE", "file that all processes see, where MASTER_ADDR is not set"},
    {"--gpus", "N", "for --list: how many GPUs to plan for (default 8)"},
}};

constexpr Tool tool{
    .name = "calibrate_collectives",
    .summary =
        "times NCCL collectives on all GPUs of this machine, or across processes under "
        "mpirun, srun or torchrun",
    .example = "mpirun -np 16 calibrate_collectives --full -o nvlink_nccl.json",
    .quick_budget_s = 60,
    .full_budget_s = 300,
    .extras = extras,
};

constexpr std::string_view method =
    "out of place, fp32 sums of small whole numbers, checked; bytes and busbw as nccl-tests define "
    "them; launches back to back behind a holding kernel and a small all-reduce, events on every "
    "rank, slowest rank; median and quartiles of samples";

std::vector<std::int64_t> message_sizes(const Options& options, std::int64_t most) {
  const std::int64_t first = parse_size(extra(options, "--min-bytes", "1K"), "--min-bytes");
  const std::string default_last = options.full ? "8G" : "1G";
  const std::int64_t last = parse_size(extra(options, "--max-bytes", default_last), "--max-bytes");
  return size_ladder(first, std::min(last, most), options.full ? 2 : 4);
}

void list(const Options& options) {
  constexpr std::int64_t any = 1LL << 40;
  const std::string gpus = extra(options, "--gpus", "8");
  const int count = static_cast<int>(std::min<std::int64_t>(parse_size(gpus, "--gpus"), 65536));
  std::cout << "op,ranks,members,bytes\n";
  for (const std::vector<int>& subset : gpu_subsets(count)) {
    for (const CollectiveKind kind : parse_collectives(extra(options, "--ops", "all"))) {
      for (const std::int64_t bytes : message_sizes(options, any)) {
        std::cout << info(kind).name << ',' << subset.size() << ",\"" << join(subset) << "\","
                  << bytes << '\n';
      }
    }
  }
}

// What the first process writes down; the others have no session.
struct Run {
  World& world;
  std::unique_ptr<Session> session;
  std::vector<CollectiveKind> kinds;
  std::vector<std::int64_t> sizes;
  double slowest_s;  // a message that takes longer ends the ladder of its collective
};

Point make_point(const CollectiveRow& row,
                 Record shape,
                 std::int64_t bytes,
                 int n,
                 const Summary& time_us,
                 std::int64_t wrong) {
  const double algbw = static_cast<double>(bytes) / time_us.median * 1e-3;
  return {.op = std::string(row.name),
          .shape = std::move(shape),
          .time_us = time_us,
          .results = {field("algbw_GBps", algbw),
                      field("busbw_GBps", algbw * bus_factor(row.factor, n)),
                      field("wrong", wrong)}};
}

// The GPUs or processes that take part, and their memory.
struct Subset {
  std::string members;
  Group group;
  std::vector<Buffers> buffers;
};

enum class Step { measure, known, stop };

// What is to be done with a point: the first process decides, and all of them do it.
Step next_step(Run& run, const std::string& op, const Record& shape) {
  const Session* session = run.session.get();
  const bool stop = session != nullptr && !session->go_on();
  const bool known = session != nullptr && run.session->log().has(op, shape);
  const std::vector<double> agreed = run.world.largest({stop ? 1.0 : 0.0, known ? 1.0 : 0.0});
  if (agreed[0] > 0) return Step::stop;
  return agreed[1] > 0 ? Step::known : Step::measure;
}

void show(Run& run, const std::string& what) {
  if (!run.session) return;
  const std::size_t subsets = gpu_subsets(run.world.size()).size();
  run.session->progress().show(
      run.session->log().points().size(), run.kinds.size() * run.sizes.size() * subsets, what);
}

// All sizes of one collective, smallest first, until one takes too long. False when to stop.
bool measure_ladder(Run& run, const Subset& subset, const CollectiveRow& row) {
  const int n = subset.group.n;
  const std::string op(row.name);
  double last_s = 0;
  for (const std::int64_t wanted : run.sizes) {
    const std::int64_t elements = message_elements(wanted, n);
    const std::int64_t bytes = elements * 4;
    const Record shape{field("bytes", bytes),
                       field("ranks", n),
                       field("members", subset.members),
                       field("dtype", "fp32")};
    const Step step = next_step(run, op, shape);
    if (step == Step::stop) return false;
    if (step == Step::known) continue;
    show(run, op + ' ' + format_size(bytes) + " on " + std::to_string(n));
    const std::int64_t wrong =
        count_wrong(run.world, subset.group, row.kind, subset.buffers, elements);
    const double budget_s = 0.05 + 3 * last_s;
    const Summary time =
        time_collective(run.world, subset.group, row.kind, subset.buffers, elements, budget_s);
    if (run.session) run.session->log().add(make_point(row, shape, bytes, n, time, wrong));
    last_s = time.median * 1e-6;
    if (last_s > run.slowest_s) break;
  }
  return true;
}

bool measure_subset(Run& run, const std::vector<int>& members, const CollectiveMemory& memory) {
  Subset subset{.members = join(members), .group = run.world.make_group(members), .buffers = {}};
  subset.buffers = memory.buffers(subset.group);
  for (const CollectiveKind kind : run.kinds) {
    if (!measure_ladder(run, subset, info(kind))) return false;
  }
  return true;
}

void describe(Session& session, const World& world) {
  const char* nvls = std::getenv("NCCL_NVLS_ENABLE");
  session.add_library("nccl", nccl_version());
  session.log().set_section(
      "ranks",
      {field("processes", world.ranks().world),
       field("gpus", world.size()),
       field("launcher", world.ranks().launcher.empty() ? "none" : world.ranks().launcher),
       field("nvls", nvls == nullptr ? "default" : nvls)});
}

void measure(const Tool& self, const Options& options) {
  World world(read_ranks(process_environment()), extra(options, "--rendezvous", ""));
  std::int64_t room = free_device_bytes();
  for (const int device : world.devices()) {
    check(cudaSetDevice(device), "cudaSetDevice");
    room = std::min(room, free_device_bytes());
  }
  check(cudaSetDevice(world.devices().front()), "cudaSetDevice");
  // Negated, so that the largest over all processes is the smallest room.
  room = static_cast<std::int64_t>(-world.largest({-static_cast<double>(room)}).front());
  Run run{.world = world,
          .session = nullptr,
          .kinds = parse_collectives(extra(options, "--ops", "all")),
          .sizes = message_sizes(options, room / 5 * 2),
          .slowest_s = options.full ? 0.5 : 0.1};
  if (run.sizes.empty()) throw UserError("no message size between --min-bytes and --max-bytes");
  if (world.first()) {
    run.session = std::make_unique<Session>(self, options, world.devices().front(), method, true);
    describe(*run.session, world);
  }
  // Room for the one element a rank that the smallest message is rounded up to.
  const CollectiveMemory memory(world.devices(), run.sizes.back() + 4LL * world.size());
  std::vector<std::vector<int>> subsets = gpu_subsets(world.size());
  std::reverse(subsets.begin(), subsets.end());  // the whole machine matters most
  bool all = true;
  for (const std::vector<int>& members : subsets) all = all && measure_subset(run, members, memory);
  if (run.session) run.session->finish(all);
}

}  // namespace
}  // namespace stepsight::calibrate

int main(int argc, char** argv) {
  namespace self = stepsight::calibrate;
  return self::run_main(self::tool, argc, argv, self::list, self::measure);
}
