#include "calibrate/measure/duty_cycle.h"

#include <stdexcept>
#include <vector>

#include "tests/catch2.h"

namespace stepsight::calibrate {
namespace {

constexpr std::uint64_t idle = 0x1;
constexpr std::uint64_t chosen_clocks = 0x2;
constexpr std::uint64_t power_cap = 0x4;

}  // namespace

TEST_CASE("a card that has not worked yet may begin at once") {
  CHECK(DutyCycle(0.3).pause_left_s(0) == 0);
  CHECK(DutyCycle(0.3).pause_left_s(-5) == 0);
}

TEST_CASE("3 ms of work at a duty of 30 % are followed by 7 ms of rest") {
  DutyCycle cycle(0.3);
  cycle.worked(10.003, 0.003);
  CHECK(cycle.pause_left_s(10.003) == Approx(0.007));
  CHECK(cycle.pause_left_s(10.008) == Approx(0.002));
  CHECK(cycle.pause_left_s(10.011) == 0);
}

TEST_CASE("work without a pause adds to the rest that is owed") {
  DutyCycle cycle(0.25);
  cycle.worked(0.001, 0.001);  // owes 3 ms
  cycle.worked(0.003, 0.002);  // owes 6 ms more, and nothing was paid meanwhile
  CHECK(cycle.pause_left_s(0.003) == Approx(0.009));
}

TEST_CASE("time that passes for other reasons counts as rest, and is no credit for later") {
  DutyCycle cycle(0.5);
  cycle.worked(0.001, 0.001);
  cycle.worked(1.002, 0.002);  // a second later
  CHECK(cycle.pause_left_s(1.002) == Approx(0.002));
}

TEST_CASE("the share of time at work converges to the duty cycle whatever the bursts") {
  for (const double duty : {0.1, 0.3, 0.6}) {
    DutyCycle cycle(duty);
    double now = 0;
    double busy = 0;
    for (int i = 0; i < 1000; ++i) {
      now += cycle.pause_left_s(now);
      const double burst = 0.001 * (1 + i % 7);  // each short of what rests twice as long
      now += burst;
      busy += burst;
      cycle.worked(now, burst);
    }
    CHECK(busy / now == Approx(duty).epsilon(0.01));
  }
}

TEST_CASE("a duty cycle of one never rests") {
  DutyCycle cycle(1);
  cycle.worked(4, 3);
  CHECK(cycle.pause_left_s(4) == 0);
}

TEST_CASE("work longer than 12 ms is rested for twice as long") {
  DutyCycle cycle(0.25);
  cycle.worked(0.010, 0.010);
  CHECK(cycle.pause_left_s(0.010) == Approx(0.030));
  DutyCycle other(0.25);
  other.worked(0.020, 0.020);
  CHECK(other.pause_left_s(0.020) == Approx(0.120));
}

TEST_CASE("a rest that is asked for comes after the one that is owed") {
  DutyCycle cycle(0.5);
  cycle.worked(0.002, 0.002);
  cycle.add_rest(0.002, 0.03);
  CHECK(cycle.pause_left_s(0.002) == Approx(0.032));
  cycle.add_rest(5, 0.03);
  CHECK(cycle.pause_left_s(5) == Approx(0.03));
}

TEST_CASE("a share of time that is none is a bug") {
  CHECK_THROWS_AS(DutyCycle(0), std::logic_error);
  CHECK_THROWS_AS(DutyCycle(1.01), std::logic_error);
  DutyCycle cycle(0.5);
  CHECK_THROWS_AS(cycle.set_duty(-0.5), std::logic_error);
}

TEST_CASE("large products rest longer than products bound by memory") {
  // 8192^3 in bf16: 2730 FLOP a byte. A product of one row: about one.
  const double cube = 8192.0 * 8192.0;
  CHECK(duty_for_product(2 * 8192.0 * cube, 6 * cube) == 0.3);
  CHECK(duty_for_product(2 * cube, 2 * cube) == 0.6);
}

TEST_CASE("at its duty cycle a product leaves an H200 well below its power limit") {
  // A large product would draw about 950 W at the highest clock, memory traffic 530 W (measured),
  // an awake card at rest 120 W; the limit is 700 W.
  const double product = duty_for_product(2000, 1);
  const double traffic = duty_for_product(1, 1);
  CHECK(product * 950 + (1 - product) * 120 < 0.6 * 700);
  CHECK(traffic * 530 + (1 - traffic) * 120 < 0.6 * 700);
}

TEST_CASE("the clock of a point is the mean of what was read while the card worked") {
  const BurstClock clock = summarize_clock({{.sm_mhz = 1980, .throttle = 0},
                                            {.sm_mhz = 1740, .throttle = power_cap},
                                            {.sm_mhz = 345, .throttle = idle}});
  CHECK(clock.readings == 2);
  CHECK(clock.mean_mhz == Approx(1860));
  CHECK(clock.lowest_mhz == 1740);
  CHECK(clock.throttle == power_cap);
}

TEST_CASE("a low clock or a power cap is not the clock we want") {
  const BurstClock best{.readings = 2, .mean_mhz = 1980, .lowest_mhz = 1980, .throttle = 0};
  CHECK(at_boost(best, 1980));
  BurstClock low = best;
  low.lowest_mhz = 1905;  // 96.2 %
  CHECK_FALSE(at_boost(low, 1980));
  low.lowest_mhz = 1935;  // 97.7 %
  CHECK(at_boost(low, 1980));
  for (const std::uint64_t reason : {0x4U, 0x8U, 0x20U, 0x40U, 0x80U}) {
    BurstClock capped = best;
    capped.throttle = reason;
    CHECK_FALSE(at_boost(capped, 1980));
  }
}

TEST_CASE("a clock that somebody chose, or that is hidden, is taken as it is") {
  const BurstClock chosen{
      .readings = 2, .mean_mhz = 1200, .lowest_mhz = 1200, .throttle = chosen_clocks};
  CHECK(at_boost(chosen, 1980));
  BurstClock capped = chosen;
  capped.throttle |= power_cap;
  CHECK_FALSE(at_boost(capped, 1980));
  CHECK(at_boost(summarize_clock({}), 1980));
  CHECK(at_boost(BurstClock{.readings = 1, .mean_mhz = 900, .lowest_mhz = 900, .throttle = 0}, 0));
}

TEST_CASE("points are repeated three times at most, and longer rested for each time") {
  const RepeatRule rule;
  CHECK(worth_repeating(rule, 0, 0, 20));
  CHECK(worth_repeating(rule, 2, 0, 20));
  CHECK_FALSE(worth_repeating(rule, 3, 0, 20));
  CHECK(rest_before_repeat_s(rule, 1) == 2 * rest_before_repeat_s(rule, 0));
  CHECK(rest_before_repeat_s(rule, 2) == 4 * rest_before_repeat_s(rule, 0));
}

TEST_CASE("a card that never reaches its highest clock spends a quarter of the run on trying") {
  const RepeatRule rule;
  double elapsed = 0;
  double repeating = 0;
  while (elapsed < 20) {
    elapsed += 0.05;
    for (int n = 0; worth_repeating(rule, n, repeating, elapsed); ++n) {
      elapsed += 0.1;
      repeating += 0.1;
    }
  }
  CHECK(repeating > 0.25 * elapsed);
  CHECK(repeating < 0.25 * elapsed + 0.7);
}

TEST_CASE("the first points do not take the repeats of the last") {
  const RepeatRule rule;
  CHECK(worth_repeating(rule, 0, 0.4, 0.4));
  CHECK_FALSE(worth_repeating(rule, 0, 1, 1));
  CHECK(worth_repeating(rule, 0, 1, 3));
}

}  // namespace stepsight::calibrate
