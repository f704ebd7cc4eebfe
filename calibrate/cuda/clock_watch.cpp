#include "calibrate/cuda/clock_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "calibrate/measure/statistics.h"

namespace stepsight::calibrate {

ClockWatch::ClockWatch(const Nvml& nvml, std::string pci_bus_id)
    : nvml_(nvml), pci_bus_id_(std::move(pci_bus_id)), thread_([this] { watch(); }) {}

ClockWatch::~ClockWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ClockWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::milliseconds(200), [this] { return stop_; })) {
    lock.unlock();
    const Nvml::Sample sample = nvml_.sample(pci_bus_id_);
    lock.lock();
    if (sample.valid) samples_.push_back(sample);
  }
}

Record ClockWatch::seen() const {
  const std::lock_guard lock(mutex_);
  Record record{field("samples", samples_.size())};
  if (samples_.empty()) return record;
  std::vector<double> clocks;
  std::uint64_t throttle = 0;
  unsigned milliwatts = 0;
  for (const Nvml::Sample& sample : samples_) {
    clocks.push_back(sample.sm_mhz);
    throttle |= sample.throttle;
    milliwatts = std::max(milliwatts, sample.milliwatts);
  }
  const Summary summary = summarize(clocks);
  record.push_back(field("sm_MHz_min", summary.min));
  record.push_back(field("sm_MHz_median", summary.median));
  record.push_back(field("power_W_max", static_cast<double>(milliwatts) * 1e-3));
  record.push_back(field("throttle", throttle_text(throttle)));
  return record;
}

}  // namespace stepsight::calibrate
