// `nsys stats --report cuda_gpu_kern_sum --format csv`, of old and new names ("Time(%)", "Time
// (%)"): every kernel's mean time, and how much of all kernels' time is NCCL's. And `--report
// nvtx_sum`, whose last column is Range: every marked stretch's mean time.
#pragma once
#include <cstddef>
#include <string_view>

#include "model/step_log.h"

namespace stepsight {

class NsysSummaryLog {
 public:
  void line(std::string_view line);
  StepLog finish();

 private:
  bool read_header(std::string_view line);

  StepLog log_;
  std::size_t total_ = 0, instances_ = 0, name_ = 0;  // columns; name_ is the last one
  bool ranges_ = false;
  double all_ = 0;
  double collectives_ = 0;
};

}  // namespace stepsight
