// Mean power out of readings of a card's counters: host-only, fed with numbers.
#pragma once
#include <cstdint>
#include <optional>

namespace stepsight::calibrate {

struct PowerReading {
  double time_s = 0;  // any clock, rising
  double watts = 0;   // of the card's power sensor
  double sm_mhz = 0;
  std::optional<std::uint64_t> millijoules;  // of the card's energy counter
  std::uint64_t throttle = 0;
};

// The energy counter is the better source: the power sensor of many cards reports a mean of the
// last second, in which the mix before is still felt. The counter moves only every 20 to 100 ms, so
// the mean is taken between the first and the last moment at which it was seen to move.
class PowerMeter {
 public:
  void add(const PowerReading& reading);

  std::int64_t readings() const { return readings_; }
  double mean_mhz() const;  // 0 without readings
  std::uint64_t throttle() const { return throttle_; }

  // Of the energy counter, when it moved at least three times; otherwise the mean of the sensor.
  double mean_watts() const;
  bool from_energy() const;

 private:
  std::int64_t readings_ = 0;
  double watts_sum_ = 0;
  double mhz_sum_ = 0;
  std::uint64_t throttle_ = 0;
  std::optional<std::uint64_t> last_mj_;
  std::int64_t moves_ = 0;
  double first_move_s_ = 0;
  double last_move_s_ = 0;
  std::uint64_t first_move_mj_ = 0;
  std::uint64_t last_move_mj_ = 0;
};

}  // namespace stepsight::calibrate
