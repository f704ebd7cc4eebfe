// Measured points, as a fit takes them: what was run, how long it took, and which file says so.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/collective.h"
#include "model/model_shape.h"
#include "model/operators.h"
#include "model/scenario.h"

namespace stepsight {

// The clock of the multiprocessors while a point was timed: nobody looked, at least 97 % of the
// card's highest, or lowered (power, heat).
enum class SeenClock : std::uint8_t { unknown, full, lowered };

// `source` indexes Measurements::sources.
struct GemmPoint {
  Gemm gemm;
  double time_us = 0;
  std::uint32_t source = 0;
  SeenClock clock = SeenClock::unknown;
};
struct AttentionPoint {
  Attention attention;
  double time_us = 0;
  std::uint32_t source = 0;
};
struct PassPoint {
  Pass pass;
  double time_us = 0;
  std::int64_t filled_rows = 0;  // the measured operator also fills this many rows of the table
  std::uint32_t source = 0;
};
struct ConvolutionPoint {
  Convolution convolution;
  double time_us = 0;
  std::uint32_t source = 0;
};
struct CopyPoint {
  bool to_device = false;
  double bytes = 0;
  double time_us = 0;
  std::uint32_t source = 0;
};
struct CollectivePoint {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t ranks = 0;
  double bytes = 0;
  double time_us = 0;
  std::uint32_t source = 0;
};
// Host time of one phase of a whole step of a small model (its kernels do not hold the host up).
enum class HostPhase : std::uint8_t {
  forward,
  backward,
  optimizer,
  accumulating_backward,
  bucketed_backward,
  sharded_forward,
  sharded_backward,
  sharded_optimizer,
};
struct HostPoint {
  HostPhase phase = HostPhase::forward;
  ModelShape shape;
  Training training;
  std::int64_t buckets = 0;  // bucketed_backward: gradient buckets that were communicated
  std::int64_t units = 0;    // sharded_*: units of parameters, the one that stays gathered included
  double time_us = 0;
  std::uint32_t source = 0;
};
// A sustained mix of work: what it did a second, what it drew, and at which clock.
struct PowerPoint {
  double flop_per_s = 0;
  double bytes_per_s = 0;
  double clock = 1;  // of the highest
  double power_W = 0;
  std::uint32_t source = 0;
};
// Time from start to start of the shortest kernels one after the other.
struct GapPoint {
  bool stream = false;  // issued one by one; else as nodes of a graph
  double time_us = 0;
  std::uint32_t source = 0;
};
// What ran beside what: products, memory-bound kernels, a collective's kernel, a copy engine.
enum class OverlapWork : std::uint8_t { gemm, memory, collective, copy };
// Rate of a victim under an aggressor, relative to alone.
struct OverlapPoint {
  OverlapWork victim = OverlapWork::gemm;
  OverlapWork aggressor = OverlapWork::copy;
  std::string victim_name, aggressor_name;  // "all_reduce", "gemm_8192"; empty = not stated
  double bytes = 0;           // of the collective's message or the copy; 0 = not stated
  std::int64_t channels = 0;  // blocks of the collective's kernel; 0 = the library's own choice
  double alone_us = 0;        // of one instance of the victim; 0 = not stated
  double beside_us = 0;
  double rate = 1;  // alone / beside
  std::uint32_t source = 0;
};

struct Measurements {
  std::vector<std::string> sources;  // file names, in the order in which they were read
  std::vector<GemmPoint> gemms;
  std::vector<AttentionPoint> attentions;
  std::vector<PassPoint> passes;
  std::vector<ConvolutionPoint> convolutions;
  std::vector<CopyPoint> copies;
  std::vector<CollectivePoint> collectives;
  std::vector<HostPoint> hosts;
  std::vector<OverlapPoint> overlaps;
  std::vector<PowerPoint> powers;
  std::vector<GapPoint> gaps;
  std::vector<std::string> skipped;  // "file: 12 points of op 'conv' are not used"
};

}  // namespace stepsight
