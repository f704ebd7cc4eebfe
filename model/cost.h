// What an operator costs on one GPU, alone: formulas, templated on the scalar so that the fit
// differentiates what the prediction evaluates, and `cost`, which lays the measured points over them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "model/operators.h"
#include "model/parameters.h"
#include "model/units.h"

namespace stepsight {

struct GpuProfile;

// A smooth maximum of non-negative times: (a^4 + b^4)^(1/4), at most 19 % above the larger. Its
// derivatives are finite at (0, 0), too.
template <typename T>
T smooth_max(const T& a, const T& b) {
  using std::sqrt;
  const T& larger = a < b ? b : a;
  const T& smaller = a < b ? a : b;
  if (!(larger > 0.0)) return larger;
  const T ratio = smaller / larger;
  const T squared = ratio * ratio;
  return larger * sqrt(sqrt(1.0 + squared * squared));
}

struct Tile {
  double rows, cols;
};

// The tiles that libraries choose from.
inline constexpr Tile gemm_tiles[] = {{256, 128}, {192, 192}, {128, 256}, {192, 128}, {128, 128},
                                      {128, 64},  {64, 128},  {64, 64}};
inline constexpr double largest_tile = 192 * 192;
// A product is split along k only into parts of at least this depth.
inline constexpr double shallowest_part = 256;

// Time of a product on `multiprocessors` of them.
//   waves     tiles / multiprocessors, a part wave rounded up by wave_weight
//   compute   waves x one tile's time, 2 rows cols (k + ramp_k) / (peak / multiprocessors), the rate
//             of a tile falling with its area; a product with few tiles may split k
//   memory    bytes / bandwidth
// The library picks the best tile; so does this. Tile and wave quantisation as in NVIDIA's Matrix
// Multiplication Background guide. Among shapes of one alignment the time never falls as a size
// grows, and it is never below flops / peak nor bytes / bandwidth.
template <typename T>
SecondsOf<T> gemm_formula(const Gemm& gemm, const GemmParameters<T>& p, int multiprocessors) {
  using std::max;
  using std::pow;
  const double sms = multiprocessors;
  const double m = static_cast<double>(gemm.m);
  const double n = static_cast<double>(gemm.n);
  const double k = static_cast<double>(gemm.k);
  const T rate = p.peak_TFLOPS * (1e12 / sms);
  T best(std::numeric_limits<double>::infinity());
  for (const Tile& tile : gemm_tiles) {
    const double tiles = std::ceil(m / tile.rows) * std::ceil(n / tile.cols) *
                         static_cast<double>(gemm.batch);
    const T efficiency = pow(T(tile.rows * tile.cols / largest_tile), p.small_tile_loss);
    for (double split = 1; split <= 8; split *= 2) {
      if (split > 1 && (tiles * split > 1.5 * sms || k <= shallowest_part)) break;
      const double waves = tiles * split / sms;
      const T rounded = max(1.0, waves) * (1.0 - p.wave_weight) + std::ceil(waves) * p.wave_weight;
      // Splitting costs a pass over the parts.
      const double part = split > 1 ? std::max(k / split, shallowest_part) : k;
      const T depth = part + p.ramp_k * (split > 1 ? 2.0 : 1.0);
      const T time = rounded * (2 * tile.rows * tile.cols) * depth / (rate * efficiency);
      if (time < best) best = time;
    }
  }
  switch (alignment(gemm)) {
    case 8: break;
    case 4: best = best * p.align4_slowdown; break;
    case 2: best = best * p.align2_slowdown; break;
    default: best = best * p.align1_slowdown; break;
  }
  const T memory = bytes(gemm).value / (p.bandwidth_TBps * 1e12);
  return SecondsOf<T>{p.overhead_us * 1e-6 + smooth_max(best, memory)};
}

// Time of fused attention: its FLOP over a rate that grows with head width and sequence length, at
// least the longest chain of tiles that one multiprocessor works through.
template <typename T>
SecondsOf<T> attention_formula(const Attention& a, const AttentionParameters<T>& p,
                               int multiprocessors) {
  const double seq = static_cast<double>(a.seq);
  const double width = static_cast<double>(a.head_dim);
  T rate = p.peak_TFLOPS * 1e12 * (width / (width + p.head_dim_half)) * (seq / (seq + p.seq_half));
  if (!a.causal) rate = rate * p.full_mask_gain;
  const double row_tiles = std::ceil(seq / 128.0);
  const double blocks = row_tiles * static_cast<double>(a.batch * a.heads);
  const double waves = std::max(1.0, blocks / static_cast<double>(multiprocessors));
  const T chain = waves * row_tiles * (a.causal ? 0.5 : 1.0) * p.tile_latency_us * 1e-6;
  T busy = smooth_max<T>(flops(a).value / rate, chain);
  if (a.dropout) busy = busy * p.dropout_slowdown;
  return SecondsOf<T>{p.overhead_us * 1e-6 + busy};
}

// Time of a memory-bound pass: start, a cost a row and an element, and its bytes.
template <typename T>
SecondsOf<T> pass_formula(const Pass& pass, const PassParameters<T>& p) {
  const double rows = static_cast<double>(pass.rows);
  const double elements = rows * static_cast<double>(pass.cols);
  const double counted_rows = by_row(pass.kind) ? rows : 0;  // elsewhere a row is no unit of work
  const T arithmetic = counted_rows * p.row_ns * 1e-9 + elements * p.element_ps * 1e-12;
  const T memory = bytes(pass).value / (p.bandwidth_TBps * 1e12);
  return SecondsOf<T>{p.overhead_us * 1e-6 + smooth_max(arithmetic, memory)};
}

struct Cost {
  Seconds time;
  bool measured = false;  // near enough to a measured point; else extrapolated by the formula
  bool clocked = false;   // bound by instructions: takes longer at a lower clock; else by memory
};

// The formula with the profile's parameters times the measured residual.
Cost cost(const Gemm& gemm, const GpuProfile& gpu);
Cost cost(const Attention& attention, const GpuProfile& gpu);
Cost cost(const Pass& pass, const GpuProfile& gpu);
Cost cost(const Work& work, const GpuProfile& gpu);

// One copy of a message between pinned host memory and the device.
template <typename T>
SecondsOf<T> copy_formula(double message_bytes, const CopyParameters<T>& p) {
  return SecondsOf<T>{p.latency_us * 1e-6 + message_bytes / (p.bandwidth_GBps * 1e9)};
}

}  // namespace stepsight
