#include "calibrate/measure/power_meter.h"

namespace stepsight::calibrate {

void PowerMeter::add(const PowerReading& reading) {
  ++readings_;
  watts_sum_ += reading.watts;
  mhz_sum_ += reading.sm_mhz;
  throttle_ |= reading.throttle;
  // A counter that falls was reset with the driver; then what came before says nothing.
  if (reading.millijoules && last_mj_ && *reading.millijoules < *last_mj_) moves_ = 0;
  if (reading.millijoules && last_mj_ && *reading.millijoules > *last_mj_) {
    if (moves_++ == 0) {
      first_move_s_ = reading.time_s;
      first_move_mj_ = *reading.millijoules;
    }
    last_move_s_ = reading.time_s;
    last_move_mj_ = *reading.millijoules;
  }
  if (reading.millijoules) last_mj_ = reading.millijoules;
}

double PowerMeter::mean_mhz() const {
  return readings_ == 0 ? 0 : mhz_sum_ / static_cast<double>(readings_);
}

bool PowerMeter::from_energy() const {
  constexpr std::int64_t least_moves = 3;
  return moves_ >= least_moves && last_move_s_ > first_move_s_;
}

double PowerMeter::mean_watts() const {
  if (from_energy()) {
    const auto joules = static_cast<double>(last_move_mj_ - first_move_mj_) * 1e-3;
    return joules / (last_move_s_ - first_move_s_);
  }
  return readings_ == 0 ? 0 : watts_sum_ / static_cast<double>(readings_);
}

}  // namespace stepsight::calibrate
