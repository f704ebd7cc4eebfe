// What the host pays to make the GPU do something, and what the GPU pays to begin.
#pragma once
#include "calibrate/cuda/session.h"

namespace stepsight::calibrate {

// Adds the points kernel_issue, kernel_gap, graph_issue, graph_run, event_record_issue,
// stream_wait_issue, sync_idle and launch_sync (README.md says what each is). False when the time
// is spent before all are measured.
bool measure_launch_costs(Session& session);

}  // namespace stepsight::calibrate
