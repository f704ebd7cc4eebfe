// The events of a Chrome trace as PyTorch's profiler (Kineto) writes it, one after the other as the
// parser meets them: the document is never held. Both forms are read, {"traceEvents": [...], ...}
// and a bare array of events.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/io/trace_stream.h"

namespace stepsight {

// Sizes or strides of one input; dimensions beyond the sixth are counted but not kept.
struct TraceDims {
  static constexpr std::size_t most = 6;
  std::array<std::int64_t, most> at{};
  std::size_t count = 0;
};

// One event; strings and arrays are reused from event to event. Inputs beyond `most_inputs` are
// dropped. Arrays are as long as what was recorded: empty without record_shapes.
struct TraceEvent {
  static constexpr std::size_t most_inputs = 20;

  char phase = 0;  // 'X': a complete event
  std::string category;
  std::string name;
  std::optional<double> start;     // us
  std::optional<double> duration;  // us
  std::int64_t thread = -1;        // -1: not a number
  std::optional<std::uint64_t> external_id;
  std::optional<std::uint64_t> correlation;
  std::optional<std::uint64_t> sequence;        // of the autograd graph
  std::optional<std::uint64_t> forward_thread;  // 0 for an operator of forward
  std::int64_t device = 0;
  std::vector<TraceDims> sizes, strides;
  std::vector<std::string> types, values;  // "Input type", "Concrete Inputs"

  void clear();
};

// What stands beside the events.
struct TraceHeader {
  std::string gpu;
  int multiprocessors = 0;
  std::int64_t rank = 0;
  std::int64_t world = 1;
  bool any_events = false;  // there is an array of events, empty or not
};

// Hands every event to `take`, which may keep nothing of it without copying. Returns the header
// once the end is reached. UserError with the byte where the file ends early or is no JSON, nests
// deeper than 64 levels, or holds a number outside of its range (times within 1e17 us, durations
// within 1e13 us and not negative).
TraceHeader read_trace_events(TraceStream& stream, const std::function<void(TraceEvent&)>& take);

}  // namespace stepsight
