// What a person could change, each simulated: how much faster a sample would go, and how sure that
// is.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model_error.h"
#include "model/quantiles.h"
#include "simulate/predict.h"
#include "simulate/uncertainty.h"

namespace stepsight {

enum class LeverKind : std::uint8_t {
  bigger_batch,
  accumulate,
  no_sync,
  overlap,
  bucket_size,
  narrow_gradients,
  other_strategy,
  compile,
  flash_attention,
  fused_optimizer,
  less_recompute,
  peer_to_peer,
  nvlink_bridge,
  more_adapters,
  equal_ranks,
  faster_loader,
  faster_storage,
  no_stalls,
};

struct Lever {
  LeverKind kind{};
  std::vector<std::string> values;  // of what changes: after it, and before; as the kind has them
  std::string key;  // of the scenario, with its new value: "batch = 16"; empty for hardware
  bool same_training = true;  // the optimizer sees the same batch and precision as before
  Scenario scenario;          // with the change
  Seconds step;               // of that scenario
  double gain = 0;            // samples a second, over those before, less 1
  Quantiles speedup;          // 1 + gain with its interval
};

// Every change that applies, fits into the card's memory and makes a sample faster by at least half
// a percent, the largest gain first. Of several sizes of a batch or a bucket the best one. `now` is
// predicted from `scenario`; UserError for a link that is not known.
std::vector<Lever> levers(const Scenario& scenario,
                          const GpuProfile& gpu,
                          const Prediction& now,
                          const ModelError& error);

// What can be asked beside the machines: of a model everything, of a step as it was traced no other
// batch and no other kernels.
struct LeverScope {
  bool whole_training = true;     // batch, accumulation, kernels, every strategy
  bool narrow_gradients = false;  // gradients are wider than the 16 bits that products compute in
};

// How a changed scenario is answered.
struct LeverAnswer {
  Seconds step;
  bool fits = true;  // into the card's memory
};
struct LeverModel {
  std::function<LeverAnswer(const Scenario&)> step;
  std::function<Uncertainty(const Scenario&, Seconds)> uncertainty;
};

// The same by another model of the step (simulate/traced_prediction.h).
std::vector<Lever> levers(const Scenario& scenario,
                          const Prediction& now,
                          const LeverScope& scope,
                          const LeverModel& model,
                          const ModelError& error);

// "larger batch"
std::string_view name_of(LeverKind kind);

}  // namespace stepsight
