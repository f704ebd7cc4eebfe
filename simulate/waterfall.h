// Where a step's time goes, as parts that add up exactly: in whole picoseconds, none below 0; and
// how two steps differ, cause by cause.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "simulate/predict.h"
#include "simulate/program.h"
#include "simulate/uncertainty.h"

namespace stepsight {

enum class StepCause : std::uint8_t {
  compute,  // one GPU alone for its own batch; with stages, of the one that computes longest
  bubble,   // waiting for other pipeline stages
  copies,   // gradients into and out of buckets, parameters out of gathered units
  exposed_latency,    // waiting for communication that would be there at any bandwidth
  exposed_bandwidth,  // waiting for the bytes
  slow_down,          // compute slowed by communication beside it
  slowest,            // waiting for the slowest rank
  loading,            // waiting for data
  stalls,             // the step's share of pauses
};
inline constexpr std::size_t step_cause_count = 9;
std::string_view name_of(StepCause cause);

struct Waterfall {
  std::array<Picoseconds, step_cause_count> parts{};  // by StepCause, each at least 0
  Picoseconds step = 0;                               // their sum
};

// The parts of the prediction's attribution; what waits for communication is cut in two by asking
// again with a link of the same latency and no bytes to carry. UserError as predict().
Waterfall waterfall_of(const Scenario& scenario,
                       const GpuProfile& gpu,
                       const Prediction& prediction);
// The same by asking `regular`, the step without what disturbs it besides.
Waterfall waterfall_of(const Prediction& prediction, const StepQuestion& regular);

// b.step = a.step + sum of more - sum of less, to the picosecond; of each cause one of the two is
// 0.
struct StepDifference {
  std::array<Picoseconds, step_cause_count> more{};
  std::array<Picoseconds, step_cause_count> less{};
};
StepDifference difference(const Waterfall& a, const Waterfall& b);

}  // namespace stepsight
