// Trainers of vision models, which print how long a step waited for data: mmengine and mmcv,
// detectron2, PyTorch's ImageNet example, timm, torchvision's and DINO's logger, DLLogger.
#pragma once
#include <string>
#include <string_view>

#include "model/io/logs/step_collector.h"

namespace stepsight {

class VisionLog {
 public:
  void line(std::string_view line);
  StepLog finish();

 private:
  bool read_open_mmlab(std::string_view line);
  bool read_detectron(std::string_view line);
  bool read_epoch(std::string_view line);  // imagenet, torchvision
  bool read_timm(std::string_view line);
  bool read_dllogger(std::string_view line);
  void add(std::int64_t index,
           double seconds,
           std::optional<double> data,
           std::string_view line,
           const char* format);

  StepLog log_;
  StepCollector steps_;
};

}  // namespace stepsight
