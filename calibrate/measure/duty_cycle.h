// How to time work that draws more power than a card may at its highest clock: in short bursts with
// pauses, so that the mean power stays below the limit and the clock at its highest. Policies that
// are fed numbers and know nothing of a GPU.
#pragma once
#include <cstdint>
#include <vector>

namespace stepsight::calibrate {

// Keeps the share of time in which a GPU works at most `duty`. Work that follows without a pause
// adds to what has to be rested for; time that passes for other reasons counts as rest. After more
// than 12 ms of work without a pause the rest is twice as long: on an H200 a third of the products
// that take over 16 ms, and what was measured after them, saw a lower clock, of the others 2 %.
class DutyCycle {
 public:
  // 0 < duty <= 1, or std::logic_error; 1 never rests.
  explicit DutyCycle(double duty);

  // From the next worked() on.
  void set_duty(double duty);

  // The GPU has worked for `busy_s` seconds until `now_s` (any clock, always the same).
  void worked(double now_s, double busy_s);

  // Seconds to wait from `now_s` on before the GPU may work again.
  double pause_left_s(double now_s) const;

  // Rest for `seconds` on top: before a measurement is repeated.
  void add_rest(double now_s, double seconds);

 private:
  double duty_;
  double cool_at_s_;
};

// Share of the time for which a product may work. A product with many FLOP a byte draws up to 1.4
// times the limit of an H200, one bound by memory about three quarters of it.
double duty_for_product(double flops, double bytes);

// What one look at the card while a burst ran, or right after it, has seen.
struct ClockReading {
  double sm_mhz = 0;
  std::uint64_t throttle = 0;  // bits of NVML's nvmlClocksEventReason*
};

// All looks of one point. A look that found the card idle tells its throttling and not the clock
// under work. No reading: the machine hides its clocks, or the bursts were too short to be seen.
struct BurstClock {
  std::int64_t readings = 0;  // of the clock
  double mean_mhz = 0;
  double lowest_mhz = 0;
  std::uint64_t throttle = 0;  // of any reading
};
BurstClock summarize_clock(const std::vector<ClockReading>& readings);

// Whether a card was slowed down: power, heat or a fault. The other reasons ("idle", clocks that
// somebody chose) are no slowing.
bool slowed(std::uint64_t throttle);

// Lowest clock of at least 97 % of the highest and no slowing; true when the clock is not known,
// and when somebody set the clock lower, for then no pause brings it up.
bool at_boost(const BurstClock& clock, double highest_mhz);

// When to measure a point once more because its clock was low, and how much more slowly.
struct RepeatRule {
  int most_repeats = 3;
  double first_rest_s = 0.03;   // before the first repeat, doubled for each further one
  double duty_of_repeat = 0.7;  // of the try before
  // All repeats together may take this share of the time so far, and half a second at the start: a
  // card that never reaches its highest clock must not spend the time of the design on trying, and
  // the first points must not take the repeats of the last.
  double share = 0.25;
  double at_start_s = 0.5;
};

// `repeats` of this point so far; seconds spent on repeats of all points, and since the run began.
bool worth_repeating(const RepeatRule& rule, int repeats, double repeating_s, double elapsed_s);
double rest_before_repeat_s(const RepeatRule& rule, int repeats);

}  // namespace stepsight::calibrate
