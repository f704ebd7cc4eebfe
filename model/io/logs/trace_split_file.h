// A profiler's trace of one rank to the split of its steady step. Read twice, as a stream: once for
// the steps' marks, once for the kernels of the one that stands for all.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "model/io/logs/split_events.h"
#include "model/io/trace_stream.h"

namespace stepsight {

// UserError when it is no trace, ends early, or holds no kernel of a GPU.
StepSplit read_step_split(const std::string& path);
StepSplit read_step_split(const std::function<std::unique_ptr<TraceStream>()>& open);

}  // namespace stepsight
