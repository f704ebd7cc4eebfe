// How long work takes on the GPU alone.
#pragma once
#include <cstdint>
#include <functional>

#include <cuda_runtime_api.h>

#include "calibrate/measure/duty_cycle.h"
#include "calibrate/measure/statistics.h"
#include "calibrate/measure/stopping_rule.h"

namespace stepsight::calibrate {

// Issues launch number `i` of the work on `stream`; i chooses the copy of the inputs.
using Launch = std::function<void(cudaStream_t stream, std::int64_t i)>;

// For work whose power must be kept low. Where `cycle` is set, the GPU works in bursts of about
// `burst_s` (one launch, where that is longer) and rests between them as `cycle` says; launches of
// the estimate are all the warm-up there is. `look` is called while each burst runs and after it.
struct Pacing {
  DutyCycle* cycle = nullptr;
  double burst_s = 4e-3;
  std::function<void()> look = nullptr;
};

struct TimingPlan {
  StoppingRule rule = {};
  double sample_s = 1e-3;  // a sample lasts at least this, so that its edges do not count
  double warmup_s = 0.005;
  std::int64_t min_launches = 1;  // in a sample: as many as there are copies of the inputs
  std::int64_t max_launches = 512;
  bool graph = true;  // false for work that a graph cannot hold
  Pacing pacing = {};
};

struct GpuTime {
  Summary us;                 // of one launch, start to start
  std::int64_t launches = 0;  // in one sample
};

// One sample is the time between two events around a captured graph of `launches` launches, divided
// by their number. Several samples are queued at once, so the host is always ahead of the GPU and
// its issue cost is in none of them but the first of a batch, which is dropped (samples over 5 ms
// keep it: there it does not show; so do paced ones of more than 2 ms, behind a kernel that holds
// the stream). Work longer than 2 ms is launched directly.
GpuTime time_on_gpu(cudaStream_t stream, const Launch& launch, const TimingPlan& plan);

// Microseconds of host time of one call, from batches of `calls` calls on a stream that is idle
// before each batch and is waited for after it, outside the time.
Summary time_issue_us(cudaStream_t stream,
                      const std::function<void()>& call,
                      std::int64_t calls,
                      const StoppingRule& rule);

}  // namespace stepsight::calibrate
