// What an operator costs on one GPU, alone: formulas, templated on the scalar so that the fit
// differentiates what the prediction evaluates, and `cost`, which lays the measured points over
// them.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

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

// The part of a product's result that one multiprocessor computes at a time.
struct Tile {
  double rows, cols;  // along m and n
};

// The edges of the tiles that libraries choose from (cuBLAS' kernels for Hopper: 64 to 256 in steps
// of 32), and the largest area whose sums the registers hold.
inline constexpr std::array<double, 7> tile_edges{64, 96, 128, 160, 192, 224, 256};
inline constexpr double largest_tile = 160 * 256;
// A product of few tiles is cut along k, so that more multiprocessors have work; the parts are at
// least this deep.
inline constexpr std::array<double, 8> depth_splits{1, 2, 3, 4, 6, 8, 12, 16};
inline constexpr double shallowest_part = 256;

// How a product is cut into work for the multiprocessors.
struct Tiling {
  Tile tile{};
  double split = 1;
  double waves = 0;  // tiles x split / multiprocessors
};

// Depth of a tile's work with its start and end, and with the sum of the parts where k was cut.
template <typename T>
T tile_depth(double k, double split, const GemmParameters<T>& p) {
  if (split == 1) return k + p.ramp_k;
  return std::max(k / split, shallowest_part) + p.ramp_k + p.split_k;
}

// Loading the factors limits a small tile: work over bytes goes with its harmonic edge.
template <typename T>
T tile_slowdown(const Tile& tile, const GemmParameters<T>& p) {
  return smooth_max(T(1.0), p.tile_edge * (1 / tile.rows + 1 / tile.cols));
}

// Waves, with a part wave rounded up by wave_weight.
template <typename T>
T rounded_waves(double waves, const GemmParameters<T>& p) {
  return std::max(1.0, waves) * (1.0 - p.wave_weight) + std::ceil(waves) * p.wave_weight;
}

// The tiling that takes the least time, as a library's heuristic aims at.
Tiling best_tiling(const Gemm& gemm, const GemmParameters<double>& p, int multiprocessors);

// The numbers without their derivatives: of doubles, and of scalars that keep their value in `.a`.
template <typename T>
GemmParameters<double> plain(const GemmParameters<T>& p) {
  if constexpr (std::is_same_v<T, double>) {
    return p;
  } else {
    constexpr auto from = GemmParameters<T>::fields();
    constexpr auto to = GemmParameters<double>::fields();
    GemmParameters<double> out;
    for (std::size_t i = 0; i < to.size(); ++i) out.*to[i].member = (p.*from[i].member).a;
    return out;
  }
}

// Time of a product on `multiprocessors` of them.
//   compute   waves x one tile's time, 2 rows cols depth / (peak / multiprocessors) x slow-down
//   memory    bytes / bandwidth
// of the tiling for which compute is least. Tile and wave quantisation as in NVIDIA's Matrix
// Multiplication Background guide. Among shapes of one alignment the time never falls as a size
// grows, and it is never below flops / peak nor bytes / bandwidth.
template <typename T>
SecondsOf<T> gemm_formula(const Gemm& gemm, const GemmParameters<T>& p, int multiprocessors) {
  const Tiling best = best_tiling(gemm, plain(p), multiprocessors);
  const T rate = p.peak_TFLOPS * (1e12 / multiprocessors);
  T compute = rounded_waves(best.waves, p) * (2 * best.tile.rows * best.tile.cols) *
              tile_depth(static_cast<double>(gemm.k), best.split, p) * tile_slowdown(best.tile, p) /
              rate;
  switch (alignment(gemm)) {
    case 8:
      break;
    case 4:
      compute = compute * p.align4_slowdown;
      break;
    case 2:
      compute = compute * p.align2_slowdown;
      break;
    default:
      compute = compute * p.align1_slowdown;
      break;
  }
  if (gemm.layout == Layout::NN) compute = compute * p.nn_slowdown;
  if (gemm.layout == Layout::NT) compute = compute * p.nt_slowdown;
  const T memory = bytes(gemm).value / (p.bandwidth_TBps * 1e12);
  return SecondsOf<T>{p.overhead_us * 1e-6 + smooth_max(compute, memory)};
}

// Time of fused attention: its FLOP over a rate that grows with head width and sequence length, at
// least the longest chain of tiles that one multiprocessor works through.
template <typename T>
SecondsOf<T> attention_formula(const Attention& a,
                               const AttentionParameters<T>& p,
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
