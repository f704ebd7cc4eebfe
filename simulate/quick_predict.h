// A point of a sweep or a search: the figures of simulate/predict.h that one run of the step gives,
// thousands of times a second. No attribution, no scaling against one GPU, no largest batch.
#pragma once
#include <cstdint>

#include "model/profile.h"
#include "model/scenario.h"
#include "simulate/price_cache.h"
#include "simulate/step_costs.h"

namespace stepsight {

struct QuickPrediction {
  Seconds step;
  double samples_per_s = 0;
  double tokens_per_s = 0;
  double mfu = 0;
  double exposed_s = 0;        // communication while the GPU has nothing to compute; with pipeline
                               // stages not told apart: 0
  double communication_s = 0;  // with stages, of the one that has most
  double gpu_busy_s = 0;
  double host_s = 0;
  double message_bytes = 0;
  double needed_bytes = 0;  // memory of the fullest card
  bool fits = true;
  bool host_bound = false;
  bool loader_bound = false;  // the GPUs wait for data
};

// Asks one scenario after the other about one card; keeps what was priced. For one thread.
class QuickPredictor {
 public:
  // The profile must outlive the predictor.
  explicit QuickPredictor(const GpuProfile& gpu) : gpu_(gpu), cache_(gpu) {}

  // The same step as predict_step(), to the last digit. UserError for a link that is not known.
  // Precondition: violations(scenario) is empty.
  QuickPrediction predict(const Scenario& scenario);

  // What can be said before the step is run: the memory, and a proven bound of the time.
  struct Bound {
    double needed_bytes = 0;
    bool fits = true;
    Seconds least;  // 0 where it does not fit
  };
  Bound bound(const Scenario& scenario);

 private:
  const GpuProfile& gpu_;
  PriceCache cache_;
};

}  // namespace stepsight
