// Which mixes of work to sustain so that the fit of the power model is well informed: energy of a
// FLOP, of a byte and of time, and how all that falls with the clock.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace stepsight::calibrate {

enum class MixProduct { none, large, small };  // 8192 x 8192 x 8192; 4096 x 4096 x 1024

struct PowerMix {
  std::string_view name;
  MixProduct product = MixProduct::none;
  double product_share = 0;  // of the time at work, when one product takes what it takes in a
                             // burst; copies of device memory take the rest
  double duty = 1;           // share of the time at work, again by the times of bursts; 0 = idle
};

// In the order of their worth to the fit: a run that is cut short has seen the extremes.
inline constexpr std::array<PowerMix, 10> power_mixes{{
    {"gemm_8192", MixProduct::large, 1, 1},
    {"idle", MixProduct::none, 0, 0},
    {"copy", MixProduct::none, 0, 1},
    {"gemm_8192 50 %", MixProduct::large, 0.5, 1},
    {"gemm_8192 duty 60 %", MixProduct::large, 1, 0.6},
    {"gemm_8192 25 %", MixProduct::large, 0.25, 1},
    {"gemm_4096_4096_1024", MixProduct::small, 1, 1},
    {"gemm_8192 75 %", MixProduct::large, 0.75, 1},
    {"gemm_8192 duty 40 %", MixProduct::large, 1, 0.4},
    {"gemm_8192 duty 80 %", MixProduct::large, 1, 0.8},
}};

// What is issued at once: products, then copies.
struct Slice {
  std::int64_t products = 0;
  std::int64_t copies = 0;
};

// A slice of about 5 ms; of a mix of both the smallest one, of at most four products and twenty
// copies, whose share of products is within three percent points of the mix' (or the nearest).
// Times in microseconds, positive, or std::logic_error.
Slice slice_of(const PowerMix& mix, double product_us, double copy_us);

// Idle time after work of `busy_us`; 0 for a duty of 1.
double gap_us(const PowerMix& mix, double busy_us);

struct MixTimes {
  double settle_s = 0;  // until power, clock and temperature have followed the work
  double measure_s = 0;
};

// 0.3 and 0.6 s (quick) or 0.5 and 1.2 s (full); both shortened by the same factor where `budget_s`
// for all mixes demands it, to a third at most.
MixTimes mix_times(bool full, double budget_s);

}  // namespace stepsight::calibrate
