// A profiler trace (PyTorch, Chrome JSON, plain or gzip) as the events of one training step. The
// file is read twice, once to find the step and once to keep what belongs to it; memory follows the
// kernels of one step, not the size of the file.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "model/io/trace_stream.h"
#include "model/trace_events.h"
#include "model/traced_step.h"

namespace stepsight {

// Of one step: beyond any that a framework launches, so that a hostile file cannot fill the memory.
inline constexpr std::size_t most_trace_kernels = 400'000;

// Is `name` a trace and not a model: "*.json.gz", or a ".json" file whose first 4 MB have an array
// "traceEvents"?
bool names_a_trace(const std::string& name);

// UserError where there is nothing to predict from: no trace, no kernels (a trace of the CPU only),
// several ranks or GPUs.
TraceSurvey survey_trace(TraceStream& stream);
// The events of the host within the window and the kernels that they launched.
TraceEvents collect_trace(TraceStream& stream, const TraceWindow& window);

// `progress`, if given, hears now and then how many bytes of text were read, counting both times.
TracedStep read_traced_step(const std::string& path,
                            const std::function<void(std::uint64_t bytes)>& progress = {});

}  // namespace stepsight
