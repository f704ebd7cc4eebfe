#include "calibrate/measure/duty_cycle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace stepsight::calibrate {
namespace {

constexpr double long_burst_s = 0.012;

// nvmlClocksEventReason*: SwPowerCap, HwSlowdown, SwThermalSlowdown, HwThermalSlowdown,
// HwPowerBrakeSlowdown.
constexpr std::uint64_t slowing_bits = 0x004 | 0x008 | 0x020 | 0x040 | 0x080;
constexpr std::uint64_t idle = 0x001;             // GpuIdle
constexpr std::uint64_t set_by_somebody = 0x002;  // ApplicationsClocksSetting

}  // namespace

DutyCycle::DutyCycle(double duty)
    : duty_(duty), cool_at_s_(-std::numeric_limits<double>::infinity()) {
  set_duty(duty);
}

void DutyCycle::set_duty(double duty) {
  if (!(duty > 0 && duty <= 1)) throw std::logic_error("a duty cycle lies in (0, 1]");
  duty_ = duty;
}

void DutyCycle::worked(double now_s, double busy_s) {
  // What had not been rested for when this work began is still owed.
  const double rest_s = busy_s * (1 / duty_ - 1);
  cool_at_s_ = std::max(cool_at_s_, now_s - busy_s) + busy_s;
  cool_at_s_ += busy_s > long_burst_s ? 2 * rest_s : rest_s;
}

double DutyCycle::pause_left_s(double now_s) const {
  return std::max(0.0, cool_at_s_ - now_s);
}

void DutyCycle::add_rest(double now_s, double seconds) {
  cool_at_s_ = std::max(cool_at_s_, now_s) + seconds;
}

double duty_for_product(double flops, double bytes) {
  constexpr double memory_bound = 150;  // FLOP a byte; an H200's ridge in bf16 lies at 206
  constexpr double of_memory_bound = 0.6;
  constexpr double of_others = 0.3;
  return flops < memory_bound * bytes ? of_memory_bound : of_others;
}

BurstClock summarize_clock(const std::vector<ClockReading>& readings) {
  BurstClock clock;
  double sum = 0;
  for (const ClockReading& reading : readings) {
    clock.throttle |= reading.throttle & ~idle;
    if ((reading.throttle & idle) != 0) continue;
    ++clock.readings;
    sum += reading.sm_mhz;
    const bool first = clock.readings == 1;
    clock.lowest_mhz = first ? reading.sm_mhz : std::min(clock.lowest_mhz, reading.sm_mhz);
  }
  if (clock.readings > 0) clock.mean_mhz = sum / static_cast<double>(clock.readings);
  return clock;
}

bool slowed(std::uint64_t throttle) {
  return (throttle & slowing_bits) != 0;
}

bool at_boost(const BurstClock& clock, double highest_mhz) {
  if (slowed(clock.throttle)) return false;
  if (clock.readings == 0 || highest_mhz <= 0) return true;
  return clock.lowest_mhz >= 0.97 * highest_mhz || (clock.throttle & set_by_somebody) != 0;
}

bool worth_repeating(const RepeatRule& rule, int repeats, double repeating_s, double elapsed_s) {
  return repeats < rule.most_repeats && repeating_s < rule.at_start_s + rule.share * elapsed_s;
}

double rest_before_repeat_s(const RepeatRule& rule, int repeats) {
  return rule.first_rest_s * std::exp2(repeats);
}

}  // namespace stepsight::calibrate
