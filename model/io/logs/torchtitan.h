// torchtitan ("step: 10  loss:  7.41022  ...  tps: 5,762"), fairseq ("ups=0.39, wpb=131072"),
// composer and OLMo (blocks of lines under "[batch=25/4800]:"). Their rates are per GPU; torchtitan
// prints no time, so that its steps are timed by the time stamps of the lines.
#pragma once
#include <optional>
#include <string_view>

#include "model/io/logs/step_collector.h"

namespace stepsight {

class TorchtitanLog {
 public:
  void line(std::string_view line);
  StepLog finish();

 private:
  bool read_titan(std::string_view line);
  bool read_fairseq(std::string_view line);
  void read_block(std::string_view line);

  StepLog log_;
  StepCollector steps_;
  std::optional<double> last_stamp_;
  std::int64_t last_step_ = 0;
  std::optional<std::int64_t> block_;  // step of the block being read
  std::optional<double> block_rate_;
  double mfu_sum_ = 0;
  std::int64_t mfu_count_ = 0;
  bool titan_without_time_ = false;
};

}  // namespace stepsight
