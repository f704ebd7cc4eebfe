// Where a step's time goes on one GPU of several, from the kernels of a profiler's trace: compute,
// communication beside it, communication that nothing hides, and nothing at all; and over the
// traces of several ranks, how much of the collectives' time is waiting for the slowest.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stepsight {

// A kernel on the GPU; microseconds.
struct KernelSpan {
  double start = 0;
  double end = 0;
  bool collective = false;
};

// Microseconds of one step: compute + exposed + idle = step.
struct StepSplit {
  std::string step_name;  // "ProfilerStep#12"; empty: the whole file
  double step = 0;
  double compute = 0;        // some kernel that is no collective runs
  double communication = 0;  // some collective runs
  double exposed = 0;        // ... and nothing else
  double idle = 0;           // no kernel runs: the host, or the data loader
  std::int64_t kernels = 0;
  std::vector<double> collectives;  // the time of each, in the order of their starts
  std::vector<std::string> skipped;
};

// The kernels' parts within [begin, end], end > begin. Spans in any order; they may overlap.
StepSplit split_step(std::vector<KernelSpan> spans, double begin, double end);

// Of the same step on several ranks. A collective ends on all ranks together, so the rank that came
// last has the shortest kernel: that is what the wire took, and what the others have beyond it is
// waiting.
struct RankSplit {
  double wire = 0;              // us, of all collectives
  std::vector<double> waiting;  // us beyond it, by rank
  bool matched = false;         // every rank has the same number of collectives; else the rest is 0
};
RankSplit split_ranks(std::span<const StepSplit> ranks);

}  // namespace stepsight
