// Which part of a run is its steady state: warm-up and compilation cut off in front, periodic
// stalls (checkpoints, evaluation) told apart from the steps between them, and both kept for the
// reader.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/step_log.h"

namespace stepsight {

struct Stall {
  std::int64_t index = 0;    // of the step
  double extra_seconds = 0;  // beyond a steady step
};

struct SteadyWindow {
  std::size_t first = 0;       // entries [first, size) are the window
  std::size_t entries = 0;     // of the window
  std::int64_t steps = 0;      // that they cover, stalls left out
  double warm_up_seconds = 0;  // of all entries before it
  std::int64_t warm_up_steps = 0;
  double step_seconds = 0;  // median of the window without stalls, by steps
  double mean_seconds = 0;  // mean of the window with stalls: what the run really pays
  double low_seconds = 0;   // quartiles without stalls
  double high_seconds = 0;
  double stall_limit = 0;     // a longer entry is a stall
  std::vector<Stall> stalls;  // at most most_stalls, the first ones
  std::size_t stall_count = 0;
  double stall_share = 0;  // of the window's time that the stalls take beyond steady steps
  std::optional<double> stall_every;  // median distance of stalls in steps, from three stalls on
  // Mean of the window, of the steps that say it.
  std::optional<double> data_seconds;
  std::optional<double> rate;
};

inline constexpr std::size_t most_stalls = 100;

// The run's end is taken for its steady state: the median of its last half. An entry is a stall
// when it is longer by more than 30 % and by more than six times the spread (1.4826 times the
// median absolute deviation). Warm-up ends at the first entry from which on most of the next eight
// are no stalls; it is at most half of the entries. Nothing for an empty log.
std::optional<SteadyWindow> steady_window(std::span<const LoggedStep> steps);

}  // namespace stepsight
