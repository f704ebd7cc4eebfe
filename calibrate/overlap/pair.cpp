#include "calibrate/overlap/pair.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/kernels.h"
#include "calibrate/measure/overlap_plan.h"

namespace stepsight::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int repeats = 7;

struct Window {
  double work_us = 0;      // of one instance, on the slowest device
  bool covered = true;     // `beside` was still running when the last instance ended
  double next_hold_s = 0;  // how long the streams must be held for the host to be ahead
};

std::vector<Event> events_on(const std::vector<int>& devices) {
  std::vector<Event> events;
  for (const int device : devices) {
    check(cudaSetDevice(device), "cudaSetDevice");
    events.push_back(make_event());
  }
  return events;
}

void record(const Work& work, const std::vector<Event>& events) {
  for (std::size_t i = 0; i < work.devices.size(); ++i) {
    check(cudaSetDevice(work.devices[i]), "cudaSetDevice");
    check(cudaEventRecord(events[i].get(), work.streams[i]), "cudaEventRecord");
  }
}

void hold(const Work& work, double seconds) {
  for (std::size_t i = 0; i < work.devices.size(); ++i) {
    check(cudaSetDevice(work.devices[i]), "cudaSetDevice");
    launch_spin(static_cast<std::int64_t>(seconds * 1e9), work.streams[i]);
    check_launch("spin");
  }
}

void wait(const Work& work) {
  for (const cudaStream_t stream : work.streams) {
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
}

// `beside` begins first: the work waits for its first instance, so that it never runs alone.
void begin_beside(const Work& work, const Work& beside, std::int64_t count, double hold_s) {
  const std::vector<Event> first = events_on(beside.devices);
  hold(beside, hold_s);
  beside.launch();
  record(beside, first);
  for (std::size_t i = 0; i < work.devices.size(); ++i) {
    check(cudaStreamWaitEvent(work.streams[i], first[i].get(), 0), "cudaStreamWaitEvent");
  }
  for (std::int64_t i = 0; i < count; ++i) beside.launch();
}

Window run_window(const Work& work,
                  std::int64_t instances,
                  const Work* beside,
                  std::int64_t beside_instances,
                  double hold_s) {
  const std::vector<Event> begin = events_on(work.devices);
  const std::vector<Event> end = events_on(work.devices);
  const std::vector<Event> beside_end = events_on(work.devices);
  const Clock::time_point issued = Clock::now();
  if (beside == nullptr) {
    hold(work, hold_s);
  } else {
    begin_beside(work, *beside, beside_instances, hold_s);
    record(*beside, beside_end);
  }
  work.launch();  // its own start belongs to no instance
  record(work, begin);
  for (std::int64_t i = 0; i < instances; ++i) work.launch();
  record(work, end);
  const std::chrono::duration<double> issue_time = Clock::now() - issued;
  wait(work);
  if (beside != nullptr) wait(*beside);
  Window window;
  window.next_hold_s = std::min(1.5 * issue_time.count() + 1e-4, 0.1);
  for (std::size_t i = 0; i < work.devices.size(); ++i) {
    const double us = elapsed_s(begin[i], end[i]) * 1e6 / static_cast<double>(instances);
    window.work_us = std::max(window.work_us, us);
    if (beside != nullptr) {
      window.covered = window.covered && elapsed_s(end[i], beside_end[i]) > 0;
    }
  }
  return window;
}

}  // namespace

Summary time_alone(const Work& work) {
  double hold_s = 5e-3;
  Window window = run_window(work, 3, nullptr, 0, hold_s);
  const double wanted = std::ceil(window_us / std::max(window.work_us, 1.0));
  const auto instances = static_cast<std::int64_t>(std::clamp<double>(wanted, 2, most_queued));
  std::vector<double> samples;
  for (int i = -1; i < repeats; ++i) {  // the first warms up and says how long to hold
    window = run_window(work, instances, nullptr, 0, hold_s);
    hold_s = window.next_hold_s;
    if (i >= 0) samples.push_back(window.work_us);
  }
  return summarize(samples);
}

std::optional<Summary> time_beside(const Work& work,
                                   double work_us,
                                   const Work& beside,
                                   double beside_us) {
  const std::int64_t instances = work_instances(work_us, beside_us);
  int doublings = 0;
  double hold_s = 5e-3;
  std::vector<double> samples;
  for (int tries = 0; tries < 3 * repeats && samples.size() < repeats; ++tries) {
    const std::int64_t count = beside_instances(instances, work_us, beside_us, doublings);
    const Window run = run_window(work, instances, &beside, count, hold_s);
    const bool held = run.next_hold_s <= hold_s * 1.5;
    hold_s = run.next_hold_s;
    if (!run.covered) {
      if (count == most_queued) return std::nullopt;
      ++doublings;
    } else if (held && tries > 0) {
      samples.push_back(run.work_us);
    }
  }
  if (samples.size() < 3) return std::nullopt;
  return summarize(samples);
}

}  // namespace stepsight::calibrate
