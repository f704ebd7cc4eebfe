#include "calibrate/measure/power_meter.h"

#include <cmath>

#include "tests/catch2.h"

namespace stepsight::calibrate {
namespace {

// A card that draws 600 W, whose counter moves every `period_s`, read every 7 ms for `seconds`.
// The sensor still shows 300 W, as after a mix that drew less.
PowerMeter metered(double period_s, double seconds) {
  PowerMeter meter;
  for (int i = 0; i * 0.007 < seconds; ++i) {
    const double now = i * 0.007;
    const double counted_s = std::floor((now + 0.013) / period_s) * period_s;
    meter.add({.time_s = now,
               .watts = 300,
               .sm_mhz = 1980,
               .millijoules = static_cast<std::uint64_t>(5e9 + counted_s * 600e3),
               .throttle = 0});
  }
  return meter;
}

}  // namespace

TEST_CASE("power comes from the energy counter although it moves in steps") {
  for (const double period : {0.02, 0.05, 0.1}) {
    const PowerMeter meter = metered(period, 0.6);
    CHECK(meter.from_energy());
    // The moment of a move is known to 7 ms, of at least 0.4 s between the first and the last.
    CHECK(meter.mean_watts() == Approx(600).epsilon(0.02));
  }
}

TEST_CASE("a counter that hardly moves gives way to the sensor") {
  const PowerMeter meter = metered(0.3, 0.6);
  CHECK_FALSE(meter.from_energy());
  CHECK(meter.mean_watts() == Approx(300));
}

TEST_CASE("without a counter power is the mean of the sensor") {
  PowerMeter meter;
  meter.add({.time_s = 0, .watts = 400, .sm_mhz = 1980, .millijoules = {}, .throttle = 0});
  meter.add({.time_s = 1, .watts = 500, .sm_mhz = 1800, .millijoules = {}, .throttle = 4});
  CHECK_FALSE(meter.from_energy());
  CHECK(meter.mean_watts() == 450);
  CHECK(meter.mean_mhz() == 1890);
  CHECK(meter.throttle() == 4);
  CHECK(meter.readings() == 2);
}

TEST_CASE("a counter that was reset in between counts from there") {
  PowerMeter meter;
  std::uint64_t counter = 4'000'000;
  for (int i = 0; i < 10; ++i) {
    counter = i == 3 ? 0 : counter + 60'000;  // 600 W, every 0.1 s
    meter.add(
        {.time_s = 0.1 * i, .watts = 1, .sm_mhz = 1980, .millijoules = counter, .throttle = 0});
  }
  CHECK(meter.from_energy());
  CHECK(meter.mean_watts() == Approx(600));
}

TEST_CASE("a meter that was never read has no power and no clock") {
  const PowerMeter meter;
  CHECK(meter.mean_watts() == 0);
  CHECK(meter.mean_mhz() == 0);
  CHECK(meter.readings() == 0);
}

}  // namespace stepsight::calibrate
