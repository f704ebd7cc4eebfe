// The lines of Megatron-LM ("elapsed time per iteration (ms): 5361.6"), Megatron-DeepSpeed (the
// same in seconds), NeMo ("train_step_timing in s: 7.14") and nanotron
// ("time_per_iteration_ms: 1.2K"); Megatron's dump of arguments and its timers over ranks, whose
// spread shows stragglers.
#pragma once
#include <optional>
#include <string_view>

#include "model/io/logs/part_means.h"
#include "model/io/logs/step_collector.h"

namespace stepsight {

class MegatronLog {
 public:
  void line(std::string_view line);
  StepLog finish();

 private:
  bool read_iteration(std::string_view line);
  bool read_nemo(std::string_view line);
  bool read_nanotron(std::string_view line);
  void read_dotted(std::string_view line);  // timers and arguments
  void read_argument(std::string_view name, std::string_view value);

  StepLog log_;
  StepCollector steps_;
  PartMeans parts_;
  std::optional<std::int64_t> tensor_, pipeline_, micro_batch_, world_;
};

}  // namespace stepsight
