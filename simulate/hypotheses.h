// What may make a run on N GPUs slower than it should be, each as a step time with its interval.
#pragma once
#include <vector>

#include "simulate/diagnose.h"

namespace stepsight {

// What a run is held against: predictions, scaled to the person's own one-GPU step.
class Expectation {
 public:
  Expectation(const DiagnoseQuestion& question, const GpuProfile& gpu, const ModelError& error);

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Prediction& prediction() const { return prediction_; }
  [[nodiscard]] const Uncertainty& one() const { return one_; }
  [[nodiscard]] const Quantiles& step() const { return step_; }
  [[nodiscard]] Quantiles speedup() const;

  // The step of another scenario on as many GPUs, scaled alike.
  //
  // Where one GPU was measured to take `f` times what is predicted, what the GPU computes takes f
  // times as long on N, too, and hides that much more communication; what nothing hides stays.
  [[nodiscard]] Quantiles step_of(const Scenario& scenario) const;

  // Seconds of DataParallel's step: one process sends all weights to every other GPU and takes all
  // gradients back in each micro-step, and issues every GPU's kernels from one interpreter.
  [[nodiscard]] Quantiles data_parallel_step() const;

 private:
  [[nodiscard]] double scaled_step(const Prediction& p) const;

  const GpuProfile& gpu_;
  const ModelError& error_;
  Scenario scenario_;
  Scenario base_;  // on one GPU
  Prediction prediction_;
  Prediction base_prediction_;
  Uncertainty one_;
  double factor_ = 1;  // measured over predicted, on one GPU
  double measured_one_ = 0;
  bool same_work_ = false;
  std::int64_t gpus_ = 1;
  Quantiles step_;
};

// All that can be, with how far each explains the measured step; best first.
std::vector<Hypothesis> hypotheses(const DiagnoseQuestion& question, const Expectation& expected);

}  // namespace stepsight
