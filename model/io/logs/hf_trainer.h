// What Hugging Face's Trainer (axolotl, TRL, LLaMA-Factory) prints beside its bar: the header with
// batch sizes, the dictionary at the end of a run; trainer_state.json; trainer_log.jsonl.
//
// Old versions (2021) put steps a second into `train_samples_per_second`: where the figure equals
// steps over run time it is corrected, and said.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/io/logs/step_collector.h"

namespace stepsight {

class HfTrainerLog {
 public:
  void line(std::string_view line);
  StepLog finish();

 private:
  void read_header(std::string_view line);
  void read_summary(std::string_view line);
  void read_progress(std::string_view line);  // trainer_log.jsonl
  void check_rates();

  StepLog log_;
  StepCollector steps_;
  std::optional<double> steps_per_s_;
  double last_elapsed_ = 0;
  std::int64_t last_step_ = 0;
  bool seen_ = false;
};

}  // namespace stepsight
