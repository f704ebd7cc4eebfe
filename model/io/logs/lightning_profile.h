// The table of Lightning's profilers: "run_training_batch | 0.22559 |12752 | 2876.7 | 94.573 |".
#pragma once
#include <string_view>

#include "model/step_log.h"

namespace stepsight {

class LightningProfileLog {
 public:
  void line(std::string_view line);
  StepLog finish();

 private:
  StepLog log_;
  bool in_table_ = false;
};

}  // namespace stepsight
