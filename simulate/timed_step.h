// A step's operators, copies and messages with the time each takes on the GPU, the link and the
// host: what simulate/step_program.h puts on lanes. Priced once a stage, however often the stage
// runs.
#pragma once
#include <cstdint>
#include <vector>

#include "model/profile.h"
#include "model/scenario.h"
#include "model/transformer.h"
#include "simulate/gradient_buckets.h"
#include "simulate/program.h"
#include "simulate/step_costs.h"
#include "simulate/step_links.h"
#include "simulate/step_totals.h"

namespace stepsight {

// Causes that can be taken out of a program one by one, to see what each costs.
struct Without {
  bool communication = false;  // messages take no time
  bool slow_down = false;      // compute runs at full rate under communication
  bool sync_copies = false;    // no exchange with other data-parallel ranks at all, nor its copies
};

// Something that the host issues and that then runs for `kernel` on a stream.
struct Timed {
  Picoseconds kernel = 0;
  Picoseconds issue = 0;
  std::uint32_t label = 0;
  bool clocked = false;  // takes longer at a lower clock
  double bytes = 0;      // that travel; 0: none do
  float rounds = 0;      // of tiles (model/rounds.h); 0: not known
};

struct TimedExchange {
  Timed message;
  std::uint32_t before = 0;
  std::uint32_t beside = 0;
  bool stops_host = false;  // the host issues it once everything before has run
};

struct TimedStage {
  std::vector<Timed> forward;
  std::vector<Timed> backward;
  std::vector<TimedExchange> forward_exchanges, backward_exchanges;
  std::vector<GradientReady> ready;
  std::vector<Timed> accumulate, copy;  // one a gradient, in the order of `ready`
  // Where states lie in host memory and nobody reduces gradients: one a gradient to the host.
  std::vector<Timed> to_host;
  // What the stage keeps for backward, to the host and back; no time where it stays.
  Timed stash, restore;
};

// A stretch of parameters that is gathered before it runs and whose gradients are scattered after.
struct TimedUnit {
  Timed before_gather;  // kernels beside what computes: the rank's own shards cast and put side by
                        // side
  Timed gather;         // on the link
  Timed copy_out;       // from the gathered buffer into the parameters
  Timed copy_in;        // gradients into the buffer that is scattered
  Timed scatter;        // on the link
  Timed after_scatter;  // as before_gather: the rank's own gradients cast
  Timed replicate;      // all-reduce of a shard's gradients between replicas; no time without
  // Where shards lie in host memory: parameters before the gather, gradients after the scatter.
  Timed fetch, drain;
};

// Units of a step whose parameters are sharded: the embedding and the head together are gathered
// first and stay, then come the blocks, some to a unit.
struct TimedUnits {
  TimedUnit root, block, last;  // `last`: of the blocks that do not fill a unit
  std::int64_t count = 0;       // units of blocks; 0 when parameters are not sharded
};

struct TimedStep : StepTotals {
  TimedStage embedding, block, kept_block, head;
  Timed begin, optimizer;
  std::vector<Bucket> buckets;
  std::vector<Timed> bucket;  // one a bucket
  // Who reduces each gradient, in ready order; empty where there are no buckets.
  std::vector<GradientGroup> groups;
  std::vector<Timed> bucket_to_host;  // a rank's share of each bucket; empty where gradients stay
  std::vector<Timed> copy_back;       // of each bucket, from it into the gradients; empty without
  TimedUnits units;
  // Gradients of which each tensor-parallel rank has a partial sum, once a step; no time without.
  Timed partial_gradients;
  // Where the host's CPUs update: their work, and the updated parameters' way back to the card.
  Timed host_update, updated_to_card;
  Timed gather_updated;  // ZeRO-1 and 2: updated parameters come back; no time otherwise

  // The gradient lies in a bucket.
  [[nodiscard]] bool reduces(std::size_t tensor) const {
    return !groups.empty() && groups[tensor] != GradientGroup::none;
  }
};

// Everything that a step is built from. All outlives what is built.
struct StepParts {
  const StepWork& work;
  const StepCosts& costs;  // of `work`
  const Scenario& scenario;
  const GpuProfile& gpu;
  const StepLinks& links;
  PriceCache* cache = nullptr;  // of `gpu`; null: everything is priced anew
};

// Data-parallel ranks exchange gradients: there is a link, and a strategy that uses it.
bool exchanges_gradients(const StepParts& parts);

TimedStep time_step(const StepParts& parts, const Without& without = {});

}  // namespace stepsight
