// Two kinds of work beside each other on the same GPUs: how much slower is each.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/cuda/resources.h"
#include "calibrate/measure/record.h"
#include "calibrate/measure/statistics.h"

namespace stepsight::calibrate {

// Something that one or several GPUs do again and again, on streams of its own.
struct Work {
  std::string
      role;  // gemm, memory, copy, collective, blocks: what the pair's point is called after
  std::string name;
  std::int64_t bytes = 0;  // of one copy or message; 0 where it says nothing
  int channels = 0;        // of a collective; 0 = the library's own choice
  std::vector<int> devices;
  std::vector<cudaStream_t> streams;  // one a device, kept alive by `launch`
  std::function<void()> launch;       // one instance on all streams, asynchronous
};

// Microseconds of one instance with nothing beside it.
Summary time_alone(const Work& work);

// Microseconds of one instance of `work` while `beside` runs without a pause. The expected times of
// both (alone, in microseconds) size the window. nullopt when `beside` could not be kept running to
// the end of the window.
std::optional<Summary> time_beside(const Work& work,
                                   double work_us,
                                   const Work& beside,
                                   double beside_us);

}  // namespace stepsight::calibrate
