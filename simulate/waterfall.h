// Where a step's time goes, as parts that add up exactly: in whole picoseconds, none below 0; and how two
// steps differ, cause by cause.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "simulate/predict.h"
#include "simulate/program.h"

namespace stepsight {

enum class Cause : std::uint8_t {
  compute,       // one GPU alone for its own batch; with stages, of the one that computes longest
  bubble,        // waiting for other pipeline stages
  copies,        // gradients into and out of buckets, parameters out of gathered units
  exposed_latency,    // waiting for communication that would be there at any bandwidth
  exposed_bandwidth,  // waiting for the bytes
  slow_down,     // compute slowed by communication beside it
};
inline constexpr std::size_t cause_count = 6;
std::string_view name_of(Cause cause);

struct Waterfall {
  std::array<Picoseconds, cause_count> parts{};  // by Cause, each at least 0
  Picoseconds step = 0;                          // their sum
};

// The parts of the prediction's attribution; what waits for communication is cut in two by asking again
// with a link of the same latency and no bytes to carry. UserError as predict().
Waterfall waterfall_of(const Scenario& scenario, const GpuProfile& gpu, const Prediction& prediction);

// b.step = a.step + sum of more - sum of less, to the picosecond; of each cause one of the two is 0.
struct Difference {
  std::array<Picoseconds, cause_count> more{};
  std::array<Picoseconds, cause_count> less{};
};
Difference difference(const Waterfall& a, const Waterfall& b);

}  // namespace stepsight
