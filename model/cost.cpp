#include "model/cost.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "model/attention_kernel.h"
#include "model/profile.h"

namespace stepsight {

namespace {

std::size_t index(Dtype dtype) {
  return static_cast<std::size_t>(dtype);
}

Cost corrected(Seconds formula, const MeasuredSurface::Answer& answer, bool clocked) {
  return {formula * std::exp(answer.log_residual), answer.inside(), clocked};
}

}  // namespace

Tiling best_tiling(const Gemm& gemm, const GemmParameters<double>& p, Multiprocessors sms) {
  const auto k = static_cast<double>(gemm.k);
  const bool narrow = is_narrow(gemm);
  const KernelFamily& kernels = narrow || !sms.warp_groups ? narrow_kernels : wide_kernels;
  const bool warp_groups = &kernels == &wide_kernels;
  const TileCosts<double> costs = tile_costs(p, narrow);
  const auto tiles_along = [&](std::int64_t size) {
    std::array<double, wide_edges.size()> out{};
    for (std::size_t i = 0; i < kernels.edges.size(); ++i) {
      out[i] = std::ceil(static_cast<double>(size) / kernels.edges[i]);
    }
    return out;
  };
  const auto along_m = tiles_along(gemm.m), along_n = tiles_along(gemm.n);
  Tiling best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kernels.edges.size(); ++i) {
    for (std::size_t j = 0; j < kernels.edges.size(); ++j) {
      const double rows = kernels.edges[i], cols = kernels.edges[j];
      if (rows * cols > kernels.largest_tile) break;
      if (warp_groups && (static_cast<int>(rows) % 64 && static_cast<int>(cols) % 64)) continue;
      const double tiles = along_m[i] * along_n[j] * static_cast<double>(gemm.batch);
      // Most tilings lose however fast their tiles are, where there is nothing to cut along k.
      const bool splits =
          tiles * depth_splits[1] <= kernels.most_split_waves * sms.count && k > shallowest_part;
      const double at_least =
          rounded_waves(tiles / sms.count, p) * (rows * cols) * tile_depth(k, 1, costs);
      if (!splits && at_least >= least) continue;
      const double area = rows * cols * tile_slowdown(Tile{rows, cols}, costs);
      for (const double split : depth_splits) {
        if (split > 1 &&
            (tiles * split > kernels.most_split_waves * sms.count || k <= shallowest_part))
          break;
        const double waves = tiles * split / sms.count;
        const double time = rounded_waves(waves, p) * area * tile_depth(k, split, costs);
        if (time >= least) continue;
        least = time;
        best = {{rows, cols}, split, waves};
      }
    }
  }
  return best;
}

Cost cost(const Gemm& gemm, const GpuProfile& gpu, SurfaceMemory* memory) {
  const std::size_t type = index(gemm.dtype);
  const MeasuredSurface& points = gpu.gemm_points[type];
  const Gemm turned{gemm.n, gemm.m, gemm.k, gemm.batch, gemm.dtype, gemm.layout};
  // C^T = B A^T is the same work, if its rows are aligned alike: where the exchanged shape was
  // measured nearer, it says more.
  const bool turns = gemm.layout == Layout::TN && alignment(turned) == alignment(gemm);
  const MeasuredSurface::Answer answer =
      turns ? points.at_nearer(surface_point(gemm), surface_point(turned), memory)
            : points.at(surface_point(gemm), memory);
  return corrected(gemm_formula(gemm, gpu.gemm[type], multiprocessors_of(gpu)), answer, true);
}

Cost cost(const Attention& attention, const GpuProfile& gpu, SurfaceMemory* memory) {
  if (attention.kernel != AttentionKernel::usual)
    return {generation_time(attention, gpu), false, true};
  const std::size_t side = attention.backward ? 1 : 0;
  return corrected(attention_formula(attention, gpu.attention[side], gpu.multiprocessors),
                   gpu.attention_points[side].at(surface_point(attention), memory),
                   true);
}

Seconds convolution_product(const Convolution& convolution,
                            GemmParameters<double> p,
                            Multiprocessors sms) {
  p.overhead_us = 0;
  p.bandwidth_TBps = std::numeric_limits<double>::infinity();
  return gemm_formula(implicit_gemm(convolution, sms.count), p, sms);
}

Cost cost(const Convolution& convolution, const GpuProfile& gpu, SurfaceMemory* memory) {
  const auto side = static_cast<std::size_t>(convolution.direction);
  const Seconds product =
      convolution_product(convolution, gpu.gemm[index(convolution.dtype)], multiprocessors_of(gpu));
  return corrected(convolution_formula(convolution, product, gpu.convolution[side]),
                   gpu.convolution_points[side].at(surface_point(convolution), memory),
                   true);
}

Cost cost(const Pass& pass, const GpuProfile& gpu, SurfaceMemory* memory) {
  const auto kind = static_cast<std::size_t>(pass.kind);
  // Bound by instructions where moving the bytes alone would take less than two thirds of the time.
  const Seconds formula = pass_formula(pass, gpu.pass[kind]);
  const Seconds moving{bytes(pass).value / (gpu.pass[kind].bandwidth_TBps * 1e12)};
  return corrected(formula,
                   gpu.pass_points[kind].at(surface_point(pass), memory),
                   moving.value < 0.67 * (formula.value - gpu.pass[kind].overhead_us * 1e-6));
}

Cost cost(const Work& work, const GpuProfile& gpu, SurfaceMemory* memory) {
  return std::visit([&](const auto& w) { return cost(w, gpu, memory); }, work);
}

}  // namespace stepsight
