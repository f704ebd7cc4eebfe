// DeepSpeed's throughput lines ("global_step=10, ... CurrSamplesPerSec=12.40") and its timers
// ("time (ms) | fwd: 1428.3 | bwd: 2695.1 | bwd_allreduce: 646.5 | step: 88.1"), gpt-neox' names
// too.
#pragma once
#include <optional>
#include <string_view>

#include "model/io/logs/part_means.h"
#include "model/io/logs/step_collector.h"

namespace stepsight {

class DeepspeedLog {
 public:
  void line(std::string_view line);
  StepLog finish();

 private:
  void read_throughput(std::string_view line);
  void read_timers(std::string_view line);
  void read_config(std::string_view line);

  StepLog log_;
  StepCollector by_timers_;
  StepCollector by_clock_;
  PartMeans parts_;
  std::optional<double> last_stamp_;
  std::int64_t last_step_ = 0;
  std::int64_t timed_ = 0;
  double rate_sum_ = 0;
  std::int64_t rates_ = 0;
};

}  // namespace stepsight
