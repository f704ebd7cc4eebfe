// The answer to one scenario: how long a step takes, what it yields, where the time goes, whether
// it fits, and why N cards are not N times one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/profile.h"
#include "model/scenario.h"
#include "simulate/memory.h"
#include "simulate/step_program.h"

namespace stepsight {

// What the step would take without one cause after the other, in this fixed order; the parts add up
// to the step, and none is below 0. All in seconds.
struct Attribution {
  double alone = 0;          // one GPU, no data parallelism: its own step; with pipeline stages the
                             // passes of the stage that computes longest
  double bucket_copies = 0;  // copying gradients into buckets and issuing them
  double slow_down = 0;      // compute slowed by communication beside it
  double exposed = 0;        // waiting for communication
  double bubble = 0;         // with stages: waiting for the others, messages taking no time
  double slowest = 0;        // waiting for the slowest rank
  double loading = 0;        // waiting for data
  double stalls = 0;         // a step's share of the pauses between steps
};

struct Prediction {
  Seconds step;
  double samples_per_s = 0;  // over all GPUs
  double tokens_per_s = 0;
  double mfu = 0;                  // model FLOP over the vendor's dense peak of the compute format
  double exposed_s = 0;            // communication while the GPU has nothing to compute
  double communication_s = 0;      // communication at all
  double communication_share = 0;  // communication_s over the step
  double message_bytes = 0;        // gradients that each GPU exchanges in a step
  std::uint32_t buckets = 0;
  double host_s = 0;            // issue time of a step
  double gpu_busy_s = 0;        // kernels of a step
  double clock = 1;             // of the highest, where the power limit lowers it
  bool host_bound = false;      // the host's issue, not the GPU, sets the step's length
  double unmeasured_share = 0;  // of kernel and link time that no measured point is near
  std::vector<std::pair<WorkKind, double>> breakdown;  // kernel seconds at full rate
  Attribution attribution;
  Memory memory;
};

// UserError for a link that the profile does not know.
Prediction predict(const Scenario& scenario, const GpuProfile& gpu);

// The step's time alone: what `validate` and sweeps need.
Seconds predict_step(const Scenario& scenario, const GpuProfile& gpu);

// What a run says of the last, steady step: its length, its communication and how much of it is
// exposed, and the GPU's busy time.
void read_timeline(const StepProgram& step, const Timeline& timeline, Prediction& out);
// What the totals say of it, of a step that is shared out over `stages` GPUs. After out.step is
// known.
void read_totals(const StepTotals& totals, std::int64_t stages, Prediction& out);

// How a prediction compares with the scenario's smallest GPU count of a sweep.
struct Scaling {
  double speedup = 0;     // same work: samples/s over the base's, times nothing else
  double efficiency = 0;  // speedup over the factor of GPUs
};

// speedup = throughput / base throughput, efficiency = speedup / (gpus / base gpus). 100 min on one
// card and 55 on two: 1.818 and 90.9 %.
Scaling scaling(double base_time,
                double base_work,
                std::int64_t base_gpus,
                double time,
                double work,
                std::int64_t gpus);

// The same global batch as `base` on `gpus` GPUs: fewer micro-steps first, then smaller batches.
// Nothing when it cannot be shared out evenly.
std::optional<Scenario> strong_scaling_of(const Scenario& base, std::int64_t gpus);

// The name of a kind for tables and JSON keys.
std::string_view name_of(WorkKind kind);

}  // namespace stepsight
