#include "model/io/logs/trace_split_file.h"

#include <optional>

#include "model/io/trace_json.h"

namespace stepsight {

namespace {

bool is_kernel(const TraceEvent& e) {
  return e.category == "kernel" || e.category == "Kernel" || e.category == "gpu_memcpy" ||
         e.category == "gpu_memset";
}

std::optional<SplitEvent> split_event(const TraceEvent& e) {
  if (!e.start || !e.duration) return std::nullopt;
  SplitEvent out{SplitEvent::Kind::kernel, e.name, *e.start, *e.start + *e.duration, e.device};
  if (is_kernel(e)) return out;
  if (!e.name.starts_with("ProfilerStep")) return std::nullopt;
  const bool of_gpu = e.category == "gpu_user_annotation";
  out.kind = of_gpu ? SplitEvent::Kind::gpu_step : SplitEvent::Kind::host_step;
  return out;
}

}  // namespace

StepSplit read_step_split(const std::function<std::unique_ptr<TraceStream>()>& open) {
  const EachSplitEvent each = [&](const std::function<void(const SplitEvent&)>& take) {
    const std::unique_ptr<TraceStream> stream = open();
    read_trace_events(*stream, [&](const TraceEvent& e) {
      if (const auto event = split_event(e)) take(*event);
    });
  };
  return split_events(open()->name(), each, "record ProfilerActivity.CUDA, too");
}

StepSplit read_step_split(const std::string& path) {
  return read_step_split([&] { return open_trace(path); });
}

}  // namespace stepsight
