// Gathers tracks, slices and arrows into a StepTrace: names each once, draws neighbours together
// where there are too many, and keeps the arrows right while it does.
#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulate/step_trace.h"

namespace stepsight {

class TraceBuilder {
 public:
  std::uint32_t track(std::string process, std::string name, TrackKind kind);
  std::uint32_t name(std::string_view text);
  // Slices of one track are added in order of time. Returns the slice's number for arrow().
  std::uint32_t slice(const TraceSlice& slice);
  void arrow(std::uint32_t from, std::uint32_t to, FlowKind kind);
  // `changes`: (time, change) in any order. Dropped where the value never leaves zero.
  void counter(std::string name,
               std::uint32_t track,
               std::vector<std::pair<Picoseconds, double>> changes);

  // Times become relative to the earliest slice; tracks without slices go.
  StepTrace build(std::size_t most_slices, Picoseconds step_begin, Picoseconds step_end);

 private:
  void fold(std::size_t most_slices);
  void drop_empty_tracks();

  StepTrace out_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::vector<std::uint32_t> counter_track_;
};

// The samples of a value that changes at these times, from zero; samples that differ by less than a
// hundredth of the largest value are left out.
std::vector<std::pair<Picoseconds, double>> running_sum(
    std::vector<std::pair<Picoseconds, double>> changes);

}  // namespace stepsight
