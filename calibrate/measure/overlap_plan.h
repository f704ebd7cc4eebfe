// What is timed beside what, and for how long: the part of calibrate_overlap that needs no GPU.
#pragma once
#include <cstdint>
#include <vector>

#include "calibrate/measure/collective_table.h"

namespace stepsight::calibrate {

// A collective as something that runs beside compute.
struct CollectiveSetting {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;  // message, as nccl-tests counts it
  int channels = 0;        // blocks of its kernel; 0 = the library's own choice
};

// Settings with the same number of channels share a communicator.
struct ChannelGroup {
  int channels = 0;
  std::vector<CollectiveSetting> settings;
};

// All that is measured, what says most first: the library's own channels over the sizes of gradient
// buckets and of gathered blocks, then (full) fixed numbers of channels for two sizes.
std::vector<ChannelGroup> collective_settings(bool full);

// Instances of the work in a window that holds at least two of what runs beside it, and at least
// one of the work; both times in microseconds, of one instance alone.
std::int64_t work_instances(double work_us, double beside_us);

// Instances of what runs beside, so that it outlasts `instances` of the work at half the speed.
// Beyond most_queued the stream would make the host wait; `doublings`: earlier tries that were
// short.
std::int64_t beside_instances(std::int64_t instances,
                              double work_us,
                              double beside_us,
                              int doublings);

inline constexpr double window_us = 4000;
inline constexpr std::int64_t most_queued = 400;  // a stream takes about a thousand

}  // namespace stepsight::calibrate
