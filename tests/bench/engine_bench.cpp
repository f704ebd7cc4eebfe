// Events per second of the engine; an event is the end of a task. Each program is measured on both
// paths: at full rate, and with a slow-down matrix that makes every rate follow what runs.
#include <array>
#include <vector>

#include "simulate/engine.h"
#include "tests/bench/bench.h"

namespace stepsight::bench {
namespace {

constexpr std::uint8_t compute_class = 1;
constexpr std::uint8_t communication_class = 2;

// Compute slows to 0.9 while communication runs, and communication to 0.85.
Machine contended() {
  Machine machine;
  machine.slow_down[compute_class][communication_class] = 0.9;
  machine.slow_down[communication_class][compute_class] = 0.85;
  return machine;
}

// Data-parallel training as the workload builder writes it: a host thread issues every kernel, the
// compute stream runs them, and every 13th kernel fills a bucket that the communication stream
// reduces. 2 tasks a kernel, and 1 a bucket.
Program ddp(std::size_t kernels, std::uint32_t ranks = 1) {
  ProgramBuilder builder;
  builder.reserve(ranks * (2 * kernels + kernels / 13), ranks * (kernels + kernels / 13 + 1));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const LaneId host = builder.add_lane({LaneClass::host, rank});
    const LaneId stream = builder.add_lane({LaneClass::compute, rank});
    const LaneId network = builder.add_lane({LaneClass::communication, rank});
    for (std::size_t i = 0; i < kernels; ++i) {
      const auto vary = static_cast<Picoseconds>((i * 7919 + rank * 104729) % 1000);
      const TaskId issued = builder.add({host, 4'000'000 + 1000 * vary, 1, 0});
      const TaskId done =
          builder.add({stream, 20'000'000 + 50'000 * vary, 2, compute_class}, {issued});
      if (i % 13 == 12) builder.add({network, 250'000'000, 3, communication_class}, {done});
    }
  }
  return builder.build();
}

// 500 ranks of a compute and a communication stream, each waiting for a neighbour's last message:
// 1,000 lanes that are all in play at once.
Program thousand_lanes() {
  constexpr std::uint32_t ranks = 500;
  ProgramBuilder builder;
  std::array<LaneId, ranks> stream{};
  std::array<LaneId, ranks> network{};
  for (std::uint32_t r = 0; r < ranks; ++r) {
    stream[r] = builder.add_lane({LaneClass::compute, r});
    network[r] = builder.add_lane({LaneClass::communication, r});
  }
  std::vector<TaskId> sent(ranks);
  for (std::uint32_t step = 0; step < 20; ++step) {
    std::vector<TaskId> next(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const auto vary = static_cast<Picoseconds>((step * 7919 + r * 104729) % 1000);
      const TaskSpec kernel{stream[r], 20'000'000 + 50'000 * vary, 0, compute_class};
      const TaskId done =
          step == 0 ? builder.add(kernel) : builder.add(kernel, {sent[(r + 1) % ranks]});
      next[r] =
          builder.add({network[r], 15'000'000 + 40'000 * vary, 1, communication_class}, {done});
    }
    sent = next;
  }
  return builder.build();
}

// Millions of task ends per second of run().
double event_rate(const Program& program, const Machine& machine) {
  const double seconds = seconds_per_call([&] { keep(run(program, machine)); });
  return static_cast<double>(program.tasks().size()) / seconds * 1e-6;
}

double build_and_run_ms(const Machine& machine) {
  // 4,820 kernels are 10,010 tasks: about an eager step of an 80-layer model.
  return 1e3 * seconds_per_call([&] { keep(run(ddp(4820), machine)); });
}

// Flows over one shared link: a filling whenever one starts or ends.
double flow_rate() {
  constexpr std::uint32_t ranks = 8;
  const std::array<LinkId, 1> uplink{LinkId{0}};
  ProgramBuilder builder;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const LaneId network = builder.add_lane({LaneClass::communication, r});
    for (std::uint32_t i = 0; i < 1000; ++i) {
      const auto vary = static_cast<Picoseconds>((i * 7919 + r * 104729) % 1000);
      builder.add_flow({network, 15'000'000 + 40'000 * vary, 0, communication_class},
                       {uplink, BytesPerSecond{1e10}});
    }
  }
  const Program program = builder.build();
  Machine machine;
  machine.links = {BytesPerSecond{4e10}};
  return event_rate(program, machine);
}

const int registered[] = {
    add_bench({"engine: DDP, 3 lanes, full rate",
               10,
               "Mevent/s",
               Better::higher,
               [](const BenchContext&) { return event_rate(ddp(4820), Machine{}); }}),
    add_bench({"engine: DDP, 3 lanes, slow-down",
               10,
               "Mevent/s",
               Better::higher,
               [](const BenchContext&) { return event_rate(ddp(4820), contended()); }}),
    add_bench({"engine: DDP, 8 ranks of 3 lanes, slow-down",
               10,
               "Mevent/s",
               Better::higher,
               [](const BenchContext&) { return event_rate(ddp(1000, 8), contended()); }}),
    add_bench({"engine: 1,000 lanes, full rate",
               10,
               "Mevent/s",
               Better::higher,
               [](const BenchContext&) { return event_rate(thousand_lanes(), Machine{}); }}),
    add_bench({"engine: 1,000 lanes, slow-down",
               10,
               "Mevent/s",
               Better::higher,
               [](const BenchContext&) { return event_rate(thousand_lanes(), contended()); }}),
    add_bench({"engine: 8 flows on one link",
               2,
               "Mevent/s",
               Better::higher,
               [](const BenchContext&) { return flow_rate(); }}),
    add_bench({"engine: build and run 10,010 tasks, full rate",
               1,
               "ms",
               Better::lower,
               [](const BenchContext&) { return build_and_run_ms(Machine{}); }}),
    add_bench({"engine: build and run 10,010 tasks, slow-down",
               1,
               "ms",
               Better::lower,
               [](const BenchContext&) { return build_and_run_ms(contended()); }}),
};

}  // namespace
}  // namespace stepsight::bench
