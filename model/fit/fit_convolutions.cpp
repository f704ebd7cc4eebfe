// Convolutions, a group a direction, relative to the products of the same format.
#include "model/fit/fit_group.h"
#include "model/fit/fit_state.h"

namespace stepsight {

void fit_convolutions(FitState& f, ConvolutionDirection direction) {
  const auto side = static_cast<std::size_t>(direction);
  GroupInput<ConvolutionPoint> group;
  group.name = group.op = convolution_names[side];
  group.type = "bf16";
  for (const ConvolutionPoint& p : f.measured.convolutions) {
    if (p.convolution.direction == direction) group.points.push_back(p);
  }
  GpuProfile& gpu = f.out.profile;
  if (group.points.empty()) {
    gpu.convolution[side] = f.class_values.convolution[side];
    record(f, group.name, gpu.convolution[side], nullptr, 0, f.class_source);
    return;
  }
  const Multiprocessors sms = multiprocessors_of(gpu);
  const GemmParameters<double>& product = gpu.gemm[static_cast<std::size_t>(Dtype::bf16)];
  group.shape = [](const ConvolutionPoint& p) {
    const Convolution& c = p.convolution;
    // The batch comes last: a layer is held out at every batch.
    return std::array<std::int64_t, 6>{
        c.channels, c.height, c.out, c.kernel_height, c.stride, c.batch};
  };
  group.at = [](const ConvolutionPoint& p) { return surface_point(p.convolution); };
  // An image's first layer alone tells what padded channels cost.
  group.needed = [](const ConvolutionPoint& p) { return is_narrow(p.convolution); };
  group.solve = [&](const std::vector<ConvolutionPoint>& points) {
    return solve_convolutions(points, f.class_values.convolution[side], product, sms);
  };
  group.formula_us = [&](const ConvolutionPoint& p, const std::vector<double>& values) {
    const Seconds alone = convolution_product(p.convolution, product, sms);
    return convolution_formula(p.convolution, alone, unpacked<ConvolutionParameters>(values))
               .value *
           1e6;
  };
  GroupOutcome done = fit_group(group, f.out.points);
  gpu.convolution[side] = unpacked<ConvolutionParameters>(done.solution.values);
  gpu.convolution_points[side] = std::move(done.surface);
  gpu.quality.push_back(done.quality);
  record(f,
         group.name,
         gpu.convolution[side],
         &done.solution,
         done.quality.fitted_points,
         sources_of(f, group.points));
}

}  // namespace stepsight
