// Looks at clocks and throttling five times a second while the GPU works: before and after a run
// the card is idle, and the power limit does not show.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/cuda/nvml.h"

namespace stepsight::calibrate {

class ClockWatch {
 public:
  ClockWatch(const Nvml& nvml, std::string pci_bus_id);
  ~ClockWatch();
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;
  ClockWatch(ClockWatch&&) = delete;
  ClockWatch& operator=(ClockWatch&&) = delete;

  // samples, sm_MHz_min, sm_MHz_median, power_W_max, throttle (all reasons seen). Thread-safe.
  Record seen() const;

 private:
  void watch();

  const Nvml& nvml_;
  const std::string pci_bus_id_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;                  // guarded by mutex_
  std::vector<Nvml::Sample> samples_;  // guarded by mutex_
  std::thread thread_;                 // last: starts when the rest is there
};

}  // namespace stepsight::calibrate
