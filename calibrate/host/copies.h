// Copies between host and device, through the host and back, and between GPUs.
#pragma once
#include <vector>

#include "calibrate/cuda/session.h"

namespace stepsight::calibrate {

// 1 KiB ... 1 GiB; quick takes every second size and stops at 256 MiB.
std::vector<std::int64_t> copy_sizes(bool full);

// Adds the points h2d and d2h (pinned memory), h2d_pageable and d2h_pageable, loopback (down to
// pinned memory and up again, in one stream) and p2p where there are other GPUs. False when the
// time is spent first.
bool measure_copies(Session& session, bool full);

// One section for each kind of copy: start-up cost and bandwidth of a line through its points.
void add_copy_fits(MeasurementLog& log);

}  // namespace stepsight::calibrate
