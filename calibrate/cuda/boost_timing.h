// Times work at the card's highest clock: bursts with pauses, the clock looked at, and the point
// measured again where it was low (policy: measure/duty_cycle.h).
#pragma once
#include <string>

#include "calibrate/cuda/nvml.h"
#include "calibrate/cuda/timing.h"

namespace stepsight::calibrate {

struct BoostTime {
  GpuTime time;
  BurstClock clock;
  int repeats = 0;
};

// sm_MHz (mean while it ran), throttle, and repeats where there were any; nothing where the machine
// hides its clocks.
Record clock_record(const BoostTime& time);

class BoostTimer {
 public:
  // `nvml` outlives this. The run begins now: repeats may take a share of the time since then.
  BoostTimer(const Nvml& nvml, std::string pci_bus_id);

  // `plan` with bursts in place of its own pacing, and without its warm-up. The try with the
  // highest clock counts, also where none reached the highest that the card has.
  BoostTime time(cudaStream_t stream, const Launch& launch, TimingPlan plan, double duty);

 private:
  BoostTime once(cudaStream_t stream, const Launch& launch, TimingPlan& plan);

  const Nvml& nvml_;
  std::string pci_bus_id_;
  double highest_mhz_;
  double begin_s_;
  double repeating_s_ = 0;  // spent on repeats so far
  RepeatRule rule_;
  DutyCycle cycle_;  // of all points: the rest after one is the rest before the next
};

}  // namespace stepsight::calibrate
