#include "calibrate/cuda/boost_timing.h"

#include <chrono>
#include <utility>

namespace stepsight::calibrate {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Record clock_record(const BoostTime& time) {
  Record record;
  if (time.clock.readings == 0) return record;
  record.push_back(field("sm_MHz", time.clock.mean_mhz));
  record.push_back(field("throttle", throttle_text(time.clock.throttle)));
  if (time.repeats > 0) record.push_back(field("repeats", time.repeats));
  return record;
}

BoostTimer::BoostTimer(const Nvml& nvml, std::string pci_bus_id)
    : nvml_(nvml),
      pci_bus_id_(std::move(pci_bus_id)),
      highest_mhz_(nvml.highest_sm_mhz(pci_bus_id_)),
      begin_s_(now_s()),
      cycle_(1) {}

BoostTime BoostTimer::once(cudaStream_t stream, const Launch& launch, TimingPlan& plan) {
  std::vector<ClockReading> readings;
  plan.pacing.look = [&] {
    const Nvml::Sample sample = nvml_.sample(pci_bus_id_);
    if (!sample.valid) return;
    readings.push_back({.sm_mhz = static_cast<double>(sample.sm_mhz), .throttle = sample.throttle});
  };
  BoostTime result;
  result.time = time_on_gpu(stream, launch, plan);
  result.clock = summarize_clock(readings);
  return result;
}

BoostTime BoostTimer::time(cudaStream_t stream,
                           const Launch& launch,
                           TimingPlan plan,
                           double duty) {
  cycle_.set_duty(duty);
  plan.pacing.cycle = &cycle_;
  BoostTime best = once(stream, launch, plan);
  int repeats = 0;
  bool reached = at_boost(best.clock, highest_mhz_);
  while (!reached && worth_repeating(rule_, repeats, repeating_s_, now_s() - begin_s_)) {
    const double begin_s = now_s();
    cycle_.add_rest(begin_s, rest_before_repeat_s(rule_, repeats++));
    duty *= rule_.duty_of_repeat;
    cycle_.set_duty(duty);
    const BoostTime again = once(stream, launch, plan);
    reached = at_boost(again.clock, highest_mhz_);
    if (reached || again.clock.mean_mhz > best.clock.mean_mhz) best = again;
    repeating_s_ += now_s() - begin_s;
  }
  best.repeats = repeats;
  return best;
}

}  // namespace stepsight::calibrate
