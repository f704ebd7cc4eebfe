// What an operator costs on one GPU, alone: formulas, templated on the scalar so that the fit
// differentiates what the prediction evaluates, and `cost`, which lays the measured points over
// them.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "model/operators.h"
#include "model/parameters.h"
#include "model/units.h"

namespace stepsight {

struct GpuProfile;
class SurfaceMemory;

// What a product's time depends on of the card, beside its parameters. `warp_groups`: products are
// issued by groups of four warps and run asynchronously (PTX ISA, wgmma and tcgen05: Hopper, and
// Blackwell of data centres).
struct Multiprocessors {
  int count = 0;
  bool warp_groups = true;
};

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

// The same with the power of three, at most 26 % above the larger: a product's loads hide less of
// its arithmetic than a pass's do.
template <typename T>
T smooth_max_of_product(const T& a, const T& b) {
  using std::cbrt;
  const T& larger = a < b ? b : a;
  const T& smaller = a < b ? a : b;
  if (!(larger > 0.0)) return larger;
  const T ratio = smaller / larger;
  return larger * cbrt(1.0 + ratio * ratio * ratio);
}

// The part of a product's result that one multiprocessor computes at a time.
struct Tile {
  double rows, cols;  // along m and n
};

// What a library's kernels can do: edges of their tiles, the largest area whose sums the registers
// hold, and the waves up to which a product is still cut along k, so that more multiprocessors have
// work.
struct KernelFamily {
  std::span<const double> edges;
  double largest_tile;
  double most_split_waves;
};

// cuBLAS' kernels for warp groups: edges of 64 to 256 in steps of 32, one of them a multiple of the
// 64 rows that a warp group computes.
inline constexpr std::array<double, 7> wide_edges{64, 96, 128, 160, 192, 224, 256};
inline constexpr KernelFamily wide_kernels{wide_edges, 160 * 256, 1.5};
// Where those kernels cannot go the library falls back to its kernels of cards without warp groups,
// with fewer tiles to choose from (NVIDIA, Matrix Multiplication Background, section 3: 256 x 128
// down to 64 x 64) and cheap cuts along k. How many waves: by the least error on misaligned
// products of an H200; on the aligned ones of an A100 these kernels leave 5.0 % to the formula's
// error, wide ones 6.7 %.
inline constexpr std::array<double, 3> narrow_edges{64, 128, 256};
inline constexpr KernelFamily narrow_kernels{narrow_edges, 128 * 256, 8};

// Parts of a tile's depth; each is at least `shallowest_part` deep.
inline constexpr std::array<double, 17> depth_splits{
    1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48};
inline constexpr double shallowest_part = 256;

// Rows that are not aligned to 16 bytes are out of reach of Hopper's bulk loads, fp32 of its tensor
// cores, and tf32 of their asynchronous instructions unless both factors lie along k (PTX ISA,
// wgmma: only 16-bit factors can be transposed).
inline bool is_narrow(const Gemm& gemm) {
  return alignment(gemm) < 16 || gemm.dtype == Dtype::fp32 ||
         (gemm.dtype == Dtype::tf32 && gemm.layout != Layout::TN);
}

// How a product is cut into work for the multiprocessors.
struct Tiling {
  Tile tile{};
  double split = 1;
  double waves = 0;  // tiles x split / multiprocessors
};

// What one tile costs beyond its work, by the kernels that the product can take.
template <typename T>
struct TileCosts {
  T edge;  // tile_edge of the parameters
  T ramp_k;
  T split_k;
};

template <typename T>
TileCosts<T> tile_costs(const GemmParameters<T>& p, bool narrow) {
  if (narrow) return {p.narrow_tile_edge, p.ramp_k, p.narrow_split_k};
  return {p.tile_edge, p.ramp_k, p.split_k};
}

// Depth of a tile's work with its start and end, and with the sum of the parts where k was cut.
template <typename T>
T tile_depth(double k, double split, const TileCosts<T>& costs) {
  if (split == 1) return k + costs.ramp_k;
  return std::max(k / split, shallowest_part) + costs.ramp_k + costs.split_k;
}

// Loading the factors limits a small tile: work over bytes goes with its harmonic edge.
template <typename T>
T tile_slowdown(const Tile& tile, const TileCosts<T>& costs) {
  return smooth_max(T(1.0), costs.edge * (1 / tile.rows + 1 / tile.cols));
}

// Waves, with a part wave rounded up by wave_weight.
template <typename T>
T rounded_waves(double waves, const GemmParameters<T>& p) {
  return std::max(1.0, waves) * (1.0 - p.wave_weight) + std::ceil(waves) * p.wave_weight;
}

// The tiling that takes the least time, as a library's heuristic aims at.
Tiling best_tiling(const Gemm& gemm, const GemmParameters<double>& p, Multiprocessors sms);

// What the storage of the matrices makes of a tile's time: of aligned ones their layout, of others
// how wide their rows can still be read, and which of them.
template <typename T>
T storage_slowdown(const Gemm& gemm, const GemmParameters<T>& p) {
  const int rows = alignment(gemm);
  if (rows >= 16) {
    return gemm.layout == Layout::TN ? T(1.0)
                                     : (gemm.layout == Layout::NN ? p.nn_slowdown : p.nt_slowdown);
  }
  const T& slowdown =
      rows == 8 ? p.rows8_slowdown : (rows == 4 ? p.rows4_slowdown : p.rows2_slowdown);
  const int result_rows = gemm.n == 1 ? 16 : row_alignment(gemm.n, gemm.dtype);
  const bool odd_n =
      gemm.layout == Layout::TN && result_rows <= 2 && row_alignment(gemm.k, gemm.dtype) > 2;
  if (odd_n) return slowdown * p.odd_n_slowdown;
  if (gemm.layout != Layout::NT && (result_rows == 16 || result_rows <= 2))
    return slowdown * p.misaligned_k_slowdown;
  return slowdown;
}

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

// Time of a product on a card with these multiprocessors.
//   compute   waves x one tile's time, 2 rows cols depth / (peak / multiprocessors) x slow-downs
//   memory    (factors' bytes + write_cost x result's bytes) / bandwidth
// of the tiling for which compute is least. Tile and wave quantisation as in NVIDIA's Matrix
// Multiplication Background guide. Among shapes of one alignment the time never falls as a size
// grows, and it is never below flops / peak nor bytes / bandwidth.
template <typename T>
SecondsOf<T> gemm_formula(const Gemm& gemm, const GemmParameters<T>& p, Multiprocessors sms) {
  const Tiling best = best_tiling(gemm, plain(p), sms);
  const TileCosts<T> costs = tile_costs(p, is_narrow(gemm));
  const T rate = p.peak_TFLOPS * (1e12 / sms.count);
  const T compute = rounded_waves(best.waves, p) * (2 * best.tile.rows * best.tile.cols) *
                    tile_depth(static_cast<double>(gemm.k), best.split, costs) *
                    tile_slowdown(best.tile, costs) * storage_slowdown(gemm, p) / rate;
  const double written = result_bytes(gemm).value;
  const T memory =
      (bytes(gemm).value - written + p.write_cost * written) / (p.bandwidth_TBps * 1e12);
  return SecondsOf<T>{p.overhead_us * 1e-6 + smooth_max_of_product(compute, memory)};
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

// Time of the product that a convolution amounts to, without its memory traffic, which a
// convolution's overlapping windows do not have.
Seconds convolution_product(const Convolution& convolution,
                            GemmParameters<double> p,
                            Multiprocessors sms);

// Time of a convolution whose product takes `product`: that times factors for the direction (each
// has parameters of its own), for windows and for padded channels; at least its bytes.
template <typename T>
SecondsOf<T> convolution_formula(const Convolution& c,
                                 Seconds product,
                                 const ConvolutionParameters<T>& p) {
  T compute = p.slowdown * product.value;
  if (c.kernel_height * c.kernel_width > 1) compute = compute * p.window_slowdown;
  if (is_narrow(c)) compute = compute * p.narrow_slowdown;
  const T memory = bytes(c).value / (p.bandwidth_TBps * 1e12);
  return SecondsOf<T>{p.overhead_us * 1e-6 + smooth_max(compute, memory)};
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

// The formula with the profile's parameters times the measured residual. With a memory of earlier
// questions the same, to the last digit.
Cost cost(const Gemm& gemm, const GpuProfile& gpu, SurfaceMemory* memory = nullptr);
Cost cost(const Attention& attention, const GpuProfile& gpu, SurfaceMemory* memory = nullptr);
Cost cost(const Pass& pass, const GpuProfile& gpu, SurfaceMemory* memory = nullptr);
Cost cost(const Convolution& convolution, const GpuProfile& gpu, SurfaceMemory* memory = nullptr);
Cost cost(const Work& work, const GpuProfile& gpu, SurfaceMemory* memory = nullptr);

// One copy of a message between pinned host memory and the device.
template <typename T>
SecondsOf<T> copy_formula(double message_bytes, const CopyParameters<T>& p) {
  return SecondsOf<T>{p.latency_us * 1e-6 + message_bytes / (p.bandwidth_GBps * 1e9)};
}

}  // namespace stepsight
