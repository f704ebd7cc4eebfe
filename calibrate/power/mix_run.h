// Sustains one mix of work and tells what it did, what it drew and at which clock.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/cuda/nvml.h"
#include "calibrate/cuda/resources.h"
#include "calibrate/cuda/timing.h"
#include "calibrate/measure/power_meter.h"
#include "calibrate/measure/power_mixes.h"

namespace stepsight::calibrate {

// One instance of a kind of work: how to launch it and what it asks for.
struct MixWork {
  Launch launch;
  double flop = 0;
  double bytes = 0;     // of global memory that it reads and writes
  double burst_us = 0;  // of one instance in a short, cool burst
};

struct MixResult {
  double wall_s = 0;  // of the measured part
  double busy_s = 0;
  std::int64_t products = 0;
  std::int64_t copies = 0;
  std::optional<Summary> product_us;  // one a slice, of one product; nullopt without products
  std::optional<Summary> copy_us;
  PowerMeter meter;
};

class MixRun {
 public:
  // All outlive this. `product` is ignored by mixes without products.
  MixRun(const Nvml& nvml,
         std::string pci_bus_id,
         cudaStream_t stream,
         const MixWork& product,
         const MixWork& copy);

  // A mix with duty 0 leaves the card idle.
  MixResult run(const PowerMix& mix, const MixTimes& times);

 private:
  struct Issued {
    Slice slice;
    Event begin;
    Event middle;  // products end, copies begin
    Event end;
  };

  Issued issue(const Slice& slice);
  // `meter` is null while the card settles. sustain() issues two slices at least.
  void read(PowerMeter* meter);
  void idle(double seconds, PowerMeter* meter);
  std::vector<Issued> sustain(const PowerMix& mix, double seconds, PowerMeter* meter);

  const Nvml& nvml_;
  std::string pci_bus_id_;
  cudaStream_t stream_;
  const MixWork& product_;
  const MixWork& copy_;
  std::int64_t launched_ = 0;  // chooses the copy of the operands
  std::chrono::steady_clock::time_point next_read_;
};

}  // namespace stepsight::calibrate
