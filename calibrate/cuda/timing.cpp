#include "calibrate/cuda/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/resources.h"

namespace stepsight::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The unit of one sample: a graph, or direct launches.
struct Sample {
  const Launch& launch;
  std::int64_t launches;
  double estimated_s;  // of the whole sample
  GraphExec graph;

  void issue(cudaStream_t stream) const {
    if (graph) {
      check(cudaGraphLaunch(graph.get(), stream), "cudaGraphLaunch");
    } else {
      for (std::int64_t i = 0; i < launches; ++i) launch(stream, i);
    }
  }
};

// Upper bound: the issue cost of short kernels is still in it.
double estimate_s(cudaStream_t stream, const Launch& launch) {
  const Event begin = make_event();
  const Event end = make_event();
  launch(stream, 0);  // loads the kernel
  check(cudaStreamSynchronize(stream), "first launch");
  check(cudaEventRecord(begin.get(), stream), "cudaEventRecord");
  constexpr int launches = 3;
  for (std::int64_t i = 0; i < launches; ++i) launch(stream, i);
  check(cudaEventRecord(end.get(), stream), "cudaEventRecord");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return elapsed_s(begin, end) / launches;
}

// How many launches of `once_s` make a sample long enough, and not longer than a point can afford.
std::int64_t launches_for(double once_s, const TimingPlan& plan) {
  constexpr double longest_sample_s = 0.05;
  const auto wanted = static_cast<std::int64_t>(std::ceil(plan.sample_s / once_s));
  const auto most = static_cast<std::int64_t>(longest_sample_s / once_s);
  const std::int64_t launches =
      std::min(std::max(wanted, plan.min_launches), std::max<std::int64_t>(most, 1));
  return std::clamp<std::int64_t>(launches, 1, plan.max_launches);
}

Sample with_launches(
    cudaStream_t stream, const Launch& launch, std::int64_t launches, double once_s, bool graph) {
  Sample sample{.launch = launch,
                .launches = launches,
                .estimated_s = once_s * static_cast<double>(launches),
                .graph = nullptr};
  if (graph) {
    sample.graph = capture(stream, [&] {
      for (std::int64_t i = 0; i < launches; ++i) launch(stream, i);
    });
  }
  return sample;
}

double replay_s(cudaStream_t stream, const Sample& sample) {
  const Event begin = make_event();
  const Event end = make_event();
  sample.issue(stream);  // the first replay uploads the graph
  check(cudaEventRecord(begin.get(), stream), "cudaEventRecord");
  sample.issue(stream);
  check(cudaEventRecord(end.get(), stream), "cudaEventRecord");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return elapsed_s(begin, end);
}

Sample make_sample(cudaStream_t stream, const Launch& launch, const TimingPlan& plan) {
  constexpr double direct_s = 2e-3;
  const double once_s = std::max(estimate_s(stream, launch), 5e-7);
  const std::int64_t launches = launches_for(once_s, plan);
  const bool graph = plan.graph && once_s < direct_s;
  Sample sample = with_launches(stream, launch, launches, once_s, graph);
  if (!graph) return sample;
  // The estimate of a short kernel was the host's issue time; the replay knows better.
  const double better_s = replay_s(stream, sample) / static_cast<double>(launches);
  const std::int64_t more = launches_for(std::max(better_s, 5e-7), plan);
  if (more < 2 * launches) return sample;
  return with_launches(stream, launch, more, better_s, graph);
}

void warm_up(cudaStream_t stream, const Sample& sample, double warmup_s) {
  const Clock::time_point begin = Clock::now();
  do {
    sample.issue(stream);
    check(cudaStreamSynchronize(stream), "warm-up");
  } while (seconds_since(begin) < warmup_s);
}

}  // namespace

GpuTime time_on_gpu(cudaStream_t stream, const Launch& launch, const TimingPlan& plan) {
  const Sample sample = make_sample(stream, launch, plan);
  warm_up(stream, sample, plan.warmup_s);
  // A batch must not overrun the budget by much, and work that takes long needs no queue.
  const double affordable = plan.rule.budget_s / (2 * sample.estimated_s);
  const auto batch = static_cast<std::size_t>(std::clamp(affordable, 1.0, 5.0));
  const std::size_t first = sample.estimated_s < 5e-3 ? 2 : 1;
  std::vector<Event> events;
  for (std::size_t i = 0; i < batch + first; ++i) events.push_back(make_event());
  std::vector<double> samples;
  const Clock::time_point begin = Clock::now();
  while (judge(plan.rule, samples, seconds_since(begin)) == StopReason::keep_going) {
    check(cudaEventRecord(events[0].get(), stream), "cudaEventRecord");
    for (std::size_t i = 1; i < events.size(); ++i) {
      sample.issue(stream);
      check(cudaEventRecord(events[i].get(), stream), "cudaEventRecord");
    }
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (std::size_t i = first; i < events.size(); ++i) {
      samples.push_back(elapsed_s(events[i - 1], events[i]) * 1e6 /
                        static_cast<double>(sample.launches));
    }
  }
  return {.us = summarize(samples), .launches = sample.launches};
}

Summary time_issue_us(cudaStream_t stream,
                      const std::function<void()>& call,
                      std::int64_t calls,
                      const StoppingRule& rule) {
  std::vector<double> samples;
  const Clock::time_point begin = Clock::now();
  call();
  check(cudaStreamSynchronize(stream), "first call");
  while (judge(rule, samples, seconds_since(begin)) == StopReason::keep_going) {
    const Clock::time_point first = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) call();
    const double issued_s = seconds_since(first);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    samples.push_back(issued_s * 1e6 / static_cast<double>(calls));
  }
  return summarize(samples);
}

}  // namespace stepsight::calibrate
