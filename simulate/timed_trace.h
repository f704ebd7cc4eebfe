// A traced step's kernels, and the copies and messages that data parallelism adds to them, with the
// time each takes on the GPU, the link and the host: what simulate/traced_program.h puts on lanes.
#pragma once
#include <cstdint>
#include <vector>

#include "model/traced_step.h"
#include "model/traced_units.h"
#include "simulate/link.h"
#include "simulate/timed_step.h"
#include "simulate/traced_costs.h"

namespace stepsight {

// What gradients and sharded parameters travel over; Kind::none where nothing does.
struct TracedLinks {
  Link gradients;        // DDP's all-reduce, or the loop-back
  Link gather, scatter;  // FSDP's
};

// UserError for a link that the profile does not know.
TracedLinks resolve_traced_links(const GpuProfile& gpu, const Scenario& scenario);

// Everything that a traced step is built from. All outlives what is built.
struct TracedParts {
  const TracedStep& step;
  const TracedCosts& costs;  // of `step`
  const Scenario& scenario;
  const GpuProfile& gpu;
  const TracedLinks& links;
};

struct TimedTrace : StepTotals {
  std::vector<Timed> kernels;  // in the order of the trace
  Picoseconds tail = 0;        // of the host, after its last launch
  bool replicated = false;     // DDP: `copies`, `buckets` and `bucket` are there
  bool sharded = false;        // FSDP: `units`, `unit` and `root` are there

  std::vector<Timed> copies;  // one a gradient, into its bucket
  std::vector<Bucket> buckets;
  std::vector<Timed> bucket;

  TracedUnits units;
  std::vector<TimedUnit> unit;
  TimedUnit root;

  std::uint32_t join_label = 0;
  std::uint32_t tail_label = 0;
};

// Precondition: every gradient has its elements. UserError where FSDP meets several micro-steps.
TimedTrace time_trace(const TracedParts& parts, const Without& without = {});

}  // namespace stepsight
