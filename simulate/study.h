// A list of scenarios answered together: each point's prediction, and how it scales against one
// GPU.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/profile.h"
#include "model/scenario.h"
#include "simulate/money.h"
#include "simulate/predict.h"
#include "simulate/uncertainty.h"

namespace stepsight {

// The same work on one GPU and on N.
struct ScalingPoint {
  Seconds one_gpu;  // step of one GPU
  Seconds step;     // step of N
  Scaling scaling;
  // With their intervals: what both steps have in common cancels in the last two.
  Quantiles one_gpu_s{}, step_s{}, speedup{}, efficiency{};
};

struct StudyPoint {
  Scenario scenario;
  Prediction prediction;
  Uncertainty uncertainty;  // of the prediction's step
  Quantiles exposed_s{};    // of the prediction's exposed_s; all 0 where nothing is exchanged
  ScalingPoint weak;        // the batch of each GPU kept
  std::optional<ScalingPoint>
      strong;  // the global batch kept; nothing where it cannot be shared out
  // What padding the vocabulary to a multiple of 64 would make of the step, where the head's rows
  // are not aligned.
  std::optional<Seconds> padded_vocabulary;
  std::optional<Money> money;  // where the scenario has prices or the run's length
};

using ProfileOf = std::function<const GpuProfile&(const std::string& name)>;

// One GPU for the same global batch takes more micro-steps; N GPUs for the same share of a global
// batch take fewer, then smaller, ones. `error` is the model's own, as learnt
// from measured runs. UserError for a link or a GPU that is not known.
std::vector<StudyPoint> study(std::span<const Scenario> points,
                              const ProfileOf& profile_of,
                              const ModelError& error);

// The scenario on one GPU without a link; `same_work`: with the global batch of all its GPUs.
Scenario on_one_gpu(const Scenario& scenario, bool same_work);

// The same work on one GPU and on all of the scenario's: its global batch where it fixes one, else
// the batch of one GPU shared out; nothing where that cannot be.
struct SameWork {
  Scenario one, many;
};
std::optional<SameWork> same_work_pair(const Scenario& scenario);
// Whether two scenarios of one job take the same steps: the batch of each GPU and the micro-steps.
bool same_step(const Scenario& a, const Scenario& b);

}  // namespace stepsight
