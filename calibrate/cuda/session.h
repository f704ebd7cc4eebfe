// One run of a calibration binary: the GPU it uses, the file it fills, the time it has.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "calibrate/cuda/clock_watch.h"
#include "calibrate/cuda/device.h"
#include "calibrate/cuda/nvml.h"
#include "calibrate/measure/measurement_log.h"
#include "calibrate/measure/options.h"
#include "calibrate/measure/progress.h"

namespace stepsight::calibrate {

class Session {
 public:
  // Makes `gpu` current and writes down everything that MEASUREMENT.md asks about the machine.
  // `watch`: look at the clocks while measuring; not where the host's own time is measured.
  Session(const Tool& tool, const Options& options, int gpu, std::string_view method, bool watch);

  const Device& device() const { return device_; }
  const Nvml& nvml() const { return nvml_; }
  MeasurementLog& log() { return log_; }
  Progress& progress() { return progress_; }

  // Adds to the libraries section ("nccl", "2.28.9").
  void add_library(std::string_view name, std::string_view version);

  // False when the budget is spent or a signal came: then stop and call finish().
  bool go_on() const;

  // `all`: every point of the design is measured; otherwise go_on() said why not.
  void finish(bool all);

 private:
  Device device_;
  Nvml nvml_;
  MeasurementLog log_;
  Progress progress_;
  Record libraries_;
  double budget_s_;
  std::chrono::steady_clock::time_point begin_;
  std::unique_ptr<ClockWatch> watch_;
};

}  // namespace stepsight::calibrate
