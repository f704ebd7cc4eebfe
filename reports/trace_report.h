// A step's timeline: for Perfetto and chrome://tracing, and in short for a terminal.
#pragma once
#include <string>

#include "simulate/step_trace.h"

namespace stepsight {

struct TraceReport {
  std::string title;  // of the scenario, may be empty
  std::string about;  // the question in a line: model, batch, card, link, split
  StepTrace trace;
};

// Chrome's trace event format (JSON object form), which ui.perfetto.dev and chrome://tracing open
// as it is: a process a class of ranks, a thread a track, "X" events in microseconds with
// nanoseconds as fraction, arrows as "s" and "f", counters as "C". Times start where the step's
// first launch is.
std::string perfetto_json(const TraceReport& report);

// Each track's slices, busy time and share of the step, and when in the step it is busy.
std::string trace_text(const TraceReport& report);

}  // namespace stepsight
