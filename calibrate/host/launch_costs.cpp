#include "calibrate/host/launch_costs.h"

#include <functional>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/kernels.h"
#include "calibrate/cuda/resources.h"
#include "calibrate/cuda/timing.h"

namespace stepsight::calibrate {
namespace {

// A stream takes about a thousand launches before the host has to wait; a batch stays below.
constexpr std::int64_t batch = 400;
constexpr StoppingRule host_rule{.min_samples = 9,
                                 .max_samples = 60,
                                 .target_spread = 0.005,
                                 .budget_s = 0.15,
                                 .least_samples = 5};

struct Cost {
  std::string op;
  Record shape;
  std::function<Summary()> measure;
};

void empty(cudaStream_t stream) {
  launch_empty(stream);
  check_launch("empty kernel");
}

// Start-to-start time of empty kernels while the host is ahead: a long kernel holds the stream
// until all of them are issued.
Summary gap_in_stream(cudaStream_t stream) {
  constexpr std::int64_t hold_ns = 4'000'000;
  const Event begin = make_event();
  const Event end = make_event();
  std::vector<double> samples;
  for (int repeat = 0; repeat < 15; ++repeat) {
    launch_spin(hold_ns, stream);
    check_launch("spin");
    check(cudaEventRecord(begin.get(), stream), "cudaEventRecord");
    for (std::int64_t i = 0; i < batch; ++i) empty(stream);
    check(cudaEventRecord(end.get(), stream), "cudaEventRecord");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    samples.push_back(elapsed_s(begin, end) * 1e6 / static_cast<double>(batch));
  }
  return summarize(samples);
}

GraphExec graph_of(cudaStream_t stream, std::int64_t nodes) {
  return capture(stream, [&] {
    for (std::int64_t i = 0; i < nodes; ++i) empty(stream);
  });
}

Summary gap_in_graph(cudaStream_t stream) {
  const TimingPlan plan{.min_launches = batch, .max_launches = batch};
  return time_on_gpu(
             stream, [](cudaStream_t s, std::int64_t) { empty(s); }, plan)
      .us;
}

Summary graph_issue(cudaStream_t stream, std::int64_t nodes) {
  const GraphExec graph = graph_of(stream, nodes);
  return time_issue_us(
      stream,
      [&] { check(cudaGraphLaunch(graph.get(), stream), "cudaGraphLaunch"); },
      nodes > 100 ? 4 : 40,
      host_rule);
}

// Graphs one after the other; a graph of one node against a kernel in a stream is what a graph
// costs.
Summary graph_run(cudaStream_t stream, std::int64_t nodes) {
  const GraphExec graph = graph_of(stream, nodes);
  TimingPlan plan{.max_launches = 40, .graph = false};
  return time_on_gpu(
             stream,
             [&](cudaStream_t s, std::int64_t) {
               check(cudaGraphLaunch(graph.get(), s), "cudaGraphLaunch");
             },
             plan)
      .us;
}

std::vector<Cost> costs(cudaStream_t stream, const Event& event) {
  std::vector<Cost> list;
  const auto issue =
      [&](std::string op, Record shape, std::int64_t calls, std::function<void()> call) {
        list.push_back({std::move(op), std::move(shape), [stream, calls, call = std::move(call)] {
                          return time_issue_us(stream, call, calls, host_rule);
                        }});
      };
  issue("kernel_issue", {field("argument_bytes", 0)}, batch, [stream] { empty(stream); });
  issue("kernel_issue", {field("argument_bytes", 256)}, batch, [stream] {
    launch_empty_with_arguments(stream);
    check_launch("empty kernel");
  });
  list.push_back(
      {"kernel_gap", {field("mode", "stream")}, [stream] { return gap_in_stream(stream); }});
  list.push_back(
      {"kernel_gap", {field("mode", "graph")}, [stream] { return gap_in_graph(stream); }});
  for (const std::int64_t nodes : {1, 10, 100, 1000}) {
    const Record shape{field("nodes", nodes)};
    list.push_back({"graph_issue", shape, [=] { return graph_issue(stream, nodes); }});
    list.push_back({"graph_run", shape, [=] { return graph_run(stream, nodes); }});
  }
  const cudaEvent_t raw = event.get();
  issue("event_record_issue", {}, batch, [=] {
    check(cudaEventRecord(raw, stream), "cudaEventRecord");
  });
  issue("stream_wait_issue", {}, batch, [=] {
    check(cudaStreamWaitEvent(stream, raw, 0), "cudaStreamWaitEvent");
  });
  issue("sync_idle", {}, batch, [=] {
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  });
  issue("launch_sync", {}, 50, [=] {
    empty(stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  });
  return list;
}

}  // namespace

bool measure_launch_costs(Session& session) {
  const Stream stream = make_stream();
  const Event event = make_event();
  const std::vector<Cost> all = costs(stream.get(), event);
  std::size_t done = 0;
  for (const Cost& cost : all) {
    if (!session.go_on()) return false;
    session.progress().show(++done, all.size(), cost.op + ' ' + to_json(cost.shape));
    if (session.log().has(cost.op, cost.shape)) continue;
    session.log().add(
        {.op = cost.op, .shape = cost.shape, .time_us = cost.measure(), .results = {}});
  }
  return true;
}

}  // namespace stepsight::calibrate
