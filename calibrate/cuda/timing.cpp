#include "calibrate/cuda/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/kernels.h"
#include "calibrate/cuda/resources.h"

namespace stepsight::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double now_s() {
  return seconds_since(Clock::time_point());
}

void rest(const Pacing& pacing) {
  if (pacing.cycle == nullptr) return;
  std::this_thread::sleep_for(std::chrono::duration<double>(pacing.cycle->pause_left_s(now_s())));
}

// Waits for the stream, whose work began at `begin`.
void finish(cudaStream_t stream, const Pacing& pacing, Clock::time_point begin) {
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  if (pacing.cycle != nullptr) pacing.cycle->worked(now_s(), seconds_since(begin));
}

constexpr double direct_s = 2e-3;  // work that takes longer is launched without a graph

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
double estimate_s(cudaStream_t stream, const Launch& launch, const Pacing& pacing) {
  const Event begin = make_event();
  const Event end = make_event();
  rest(pacing);
  Clock::time_point issued = Clock::now();
  launch(stream, 0);  // loads the kernel
  finish(stream, pacing, issued);
  double once_s = 0;
  // Once more shows whether the work is long; three launches average what is short.
  for (const std::int64_t launches : {1, 3}) {
    rest(pacing);
    issued = Clock::now();
    check(cudaEventRecord(begin.get(), stream), "cudaEventRecord");
    for (std::int64_t i = 0; i < launches; ++i) launch(stream, i);
    check(cudaEventRecord(end.get(), stream), "cudaEventRecord");
    finish(stream, pacing, issued);
    once_s = elapsed_s(begin, end) / static_cast<double>(launches);
    if (once_s > direct_s) break;
  }
  return once_s;
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

double replay_s(cudaStream_t stream, const Sample& sample, const Pacing& pacing) {
  const Event begin = make_event();
  const Event end = make_event();
  rest(pacing);
  const Clock::time_point issued = Clock::now();
  sample.issue(stream);  // the first replay uploads the graph
  check(cudaEventRecord(begin.get(), stream), "cudaEventRecord");
  sample.issue(stream);
  check(cudaEventRecord(end.get(), stream), "cudaEventRecord");
  finish(stream, pacing, issued);
  return elapsed_s(begin, end);
}

Sample make_sample(cudaStream_t stream, const Launch& launch, const TimingPlan& plan) {
  const double once_s = std::max(estimate_s(stream, launch, plan.pacing), 5e-7);
  const std::int64_t launches = launches_for(once_s, plan);
  const bool graph = plan.graph && once_s < direct_s;
  Sample sample = with_launches(stream, launch, launches, once_s, graph);
  if (!graph) return sample;
  // The estimate of a short kernel was the host's issue time; the replay knows better.
  const double better_s = replay_s(stream, sample, plan.pacing) / static_cast<double>(launches);
  sample.estimated_s = better_s * static_cast<double>(launches);
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

// How many samples are queued at once, and which of them counts first.
struct Batch {
  std::size_t first;
  std::size_t kept;
  bool held;  // issued behind a kernel that holds the stream: the first sample counts
};

Batch make_batch(const Sample& sample, const TimingPlan& plan) {
  // A batch must not overrun the budget by much, and work that takes long needs no queue.
  const double affordable = plan.rule.budget_s / (2 * sample.estimated_s);
  if (plan.pacing.cycle == nullptr) {
    return {.first = sample.estimated_s < 5e-3 ? 2U : 1U,
            .kept = static_cast<std::size_t>(std::clamp(affordable, 1.0, 5.0)),
            .held = false};
  }
  const bool held = !sample.graph && sample.estimated_s > direct_s;
  const double in_burst = plan.pacing.burst_s / sample.estimated_s - (held ? 0 : 1);
  return {.first = held ? 1U : 2U,
          .kept = static_cast<std::size_t>(std::clamp(std::round(in_burst), 1.0, 5.0)),
          .held = held};
}

// Adds the samples of one batch, microseconds of one launch.
void run_batch(cudaStream_t stream,
               const Sample& sample,
               const Batch& batch,
               const Pacing& pacing,
               const std::vector<Event>& events,
               std::vector<double>& samples) {
  constexpr std::int64_t hold_ns = 100'000;
  rest(pacing);
  const Clock::time_point issued = Clock::now();
  if (batch.held) {
    launch_spin(hold_ns, stream);
    check_launch("spin");
  }
  check(cudaEventRecord(events[0].get(), stream), "cudaEventRecord");
  for (std::size_t i = 1; i < events.size(); ++i) {
    sample.issue(stream);
    check(cudaEventRecord(events[i].get(), stream), "cudaEventRecord");
  }
  if (pacing.look) pacing.look();
  finish(stream, pacing, issued);
  if (pacing.look) pacing.look();
  for (std::size_t i = batch.first; i < events.size(); ++i) {
    samples.push_back(elapsed_s(events[i - 1], events[i]) * 1e6 /
                      static_cast<double>(sample.launches));
  }
}

}  // namespace

GpuTime time_on_gpu(cudaStream_t stream, const Launch& launch, const TimingPlan& plan) {
  const Sample sample = make_sample(stream, launch, plan);
  if (plan.pacing.cycle == nullptr) warm_up(stream, sample, plan.warmup_s);
  const Batch batch = make_batch(sample, plan);
  std::vector<Event> events;
  for (std::size_t i = 0; i < batch.first + batch.kept; ++i) events.push_back(make_event());
  std::vector<double> samples;
  const Clock::time_point begin = Clock::now();
  while (judge(plan.rule, samples, seconds_since(begin)) == StopReason::keep_going) {
    run_batch(stream, sample, batch, plan.pacing, events, samples);
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
