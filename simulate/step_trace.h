// A steady step as tracks, slices, arrows and counters: what a timeline viewer shows. Derived from
// the same programs that predict() runs, with their names put back; ranks that do the same are
// there once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/profile.h"
#include "model/scenario.h"
#include "simulate/program.h"

namespace stepsight {

enum class TrackKind : std::uint8_t { phases, host, compute, communication, link };

// A row of the timeline. `process` gathers the tracks of one class of ranks, or the links.
struct TraceTrack {
  std::string process;
  std::string name;
  TrackKind kind = TrackKind::compute;
  std::uint32_t group = 0;  // processes are numbered in the order of their tracks
};

enum class SliceKind : std::uint8_t { forward, backward, gradient_sync, optimizer, message, other };

// Slices of a track are in order and never overlap.
struct TraceSlice {
  std::uint32_t track = 0;
  std::uint32_t name = 0;  // in StepTrace::names
  Picoseconds begin = 0;   // from the first thing that the step does
  Picoseconds end = 0;
  SliceKind kind = SliceKind::other;
  std::uint32_t tasks = 1;  // drawn as one, where a trace would be too large
  double bytes = 0;         // that travel; 0: nothing does
  double rate = 1;          // its work at full rate over its length: below 1 while slowed
};

// An arrow from the end of one slice to the begin of another.
enum class FlowKind : std::uint8_t { gradient, message, wait };
struct TraceFlow {
  std::uint32_t from = 0;  // in StepTrace::slices
  std::uint32_t to = 0;
  FlowKind kind = FlowKind::wait;
};

struct TraceCounter {
  std::string name;  // with its unit
  std::uint32_t group = 0;
  std::vector<std::pair<Picoseconds, double>> samples;  // each holds until the next
};

struct StepTrace {
  std::vector<TraceTrack> tracks;
  std::vector<std::string> names;
  std::vector<TraceSlice> slices;  // by track, in order of time
  std::vector<TraceFlow> flows;
  std::vector<TraceCounter> counters;
  Picoseconds begin = 0;  // where the step before ends: the steady step lies between the two
  Picoseconds end = 0;
  std::size_t tasks = 0;   // that the slices stand for
  std::uint32_t fold = 1;  // most tasks that one slice stands for
};

inline constexpr std::size_t usual_slices = 100'000;

// At most about `most_slices` slices of kernels and launches: neighbours of one phase are drawn
// together where there are more (messages, and what an arrow leads to or from, never). UserError
// for a link that the profile does not know.
StepTrace trace_step(const Scenario& scenario,
                     const GpuProfile& gpu,
                     std::size_t most_slices = usual_slices);

// Seconds that a track is busy within the steady step.
double busy_seconds(const StepTrace& trace, std::uint32_t track);

}  // namespace stepsight
