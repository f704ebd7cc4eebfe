#include "model/profile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepsight {

namespace {

// Farther than any interpolation reaches, so that points on either side never mix.
constexpr float apart = 16;

// Of a product, which as an integer might overflow.
float log2_of(std::int64_t size, std::int64_t times = 1) {
  if (size <= 1 && times == 1) return 0;
  const double product = static_cast<double>(size) * static_cast<double>(times);
  return std::log2(static_cast<float>(product > 0 ? product : 1));
}

template <typename Parameters>
void append(std::vector<NamedParameter>& out, const std::string& prefix, Parameters& parameters) {
  for (const auto& field : Parameters::fields()) {
    out.push_back(
        {prefix + "." + std::string(field.info.name), field.info, &(parameters.*field.member)});
  }
}

}  // namespace

Multiprocessors multiprocessors_of(const GpuProfile& gpu) {
  const auto rate = [&](Dtype type) { return gpu.vendor_TFLOPS[static_cast<std::size_t>(type)]; };
  const double narrow = std::max(rate(Dtype::bf16), rate(Dtype::fp16));
  const bool known = narrow > 0 || rate(Dtype::fp32) > 0;
  constexpr double least_TFLOPS = 5;
  return {gpu.multiprocessors, !known || narrow > least_TFLOPS * gpu.multiprocessors};
}

MeasuredSurface::Point surface_point(const Gemm& gemm) {
  // Depth only multiplies a tile's time, so that a residual reaches far along it. What a size
  // leaves over in tiles of 64 to 256 decides which kernel the library takes.
  constexpr float depth_scale = 0.33F;
  constexpr float tiling_scale = 0.1F;
  const auto tiling = [](std::int64_t size) {
    return tiling_scale * log2_of(std::gcd(size, std::int64_t{256}));
  };
  // Where the kernels are the same, products of one shape take as long in each layout (on an H200
  // within 1.4 %, one standard deviation of 88 pairs): what was measured in one speaks for the
  // others.
  const float layout_scale = is_narrow(gemm) ? 1.0F : 0.1F;
  return {log2_of(gemm.m),
          log2_of(gemm.n),
          depth_scale * log2_of(gemm.k),
          log2_of(gemm.batch),
          apart * log2_of(alignment(gemm)) + layout_scale * static_cast<float>(gemm.layout),
          tiling(gemm.m),
          tiling(gemm.n)};
}

MeasuredSurface::Point surface_point(const Attention& attention) {
  return {log2_of(attention.batch, attention.heads),
          log2_of(attention.seq),
          2 * log2_of(attention.head_dim),
          0.25F * log2_of(attention.heads / attention.kv_heads),
          (attention.causal ? 0 : apart) + (attention.dropout ? 2 * apart : 0)};
}

MeasuredSurface::Point surface_point(const Pass& pass) {
  const float width = apart * static_cast<float>(info(pass.dtype).bytes);
  if (by_row(pass.kind)) return {log2_of(pass.rows), log2_of(pass.cols), width};
  return {log2_of(pass.rows, pass.cols), 0, width};
}

MeasuredSurface::Point surface_point(const Convolution& c) {
  // A kernel is chosen by window and stride before all, so that these tell shapes apart most.
  return {log2_of(c.batch, out_height(c) * out_width(c)),
          log2_of(c.channels),
          log2_of(c.out),
          2 * log2_of(c.kernel_height, c.kernel_width),
          2 * log2_of(c.stride),
          apart * log2_of(c.groups),
          apart * static_cast<float>(info(c.dtype).bytes)};
}

std::vector<NamedParameter> named_parameters(GpuProfile& gpu) {
  std::vector<NamedParameter> out;
  for (const DtypeInfo& type : dtypes) {
    append(out, "gemm." + std::string(type.name), gpu.gemm[static_cast<std::size_t>(type.dtype)]);
  }
  append(out, "attention.forward", gpu.attention[0]);
  append(out, "attention.backward", gpu.attention[1]);
  for (std::size_t i = 0; i < convolution_names.size(); ++i) {
    append(out, std::string(convolution_names[i]), gpu.convolution[i]);
  }
  for (const PassInfo& row : passes) {
    append(out, "pass." + std::string(row.name), gpu.pass[static_cast<std::size_t>(row.kind)]);
  }
  append(out, "host", gpu.host);
  append(out, "launch", gpu.launch);
  append(out, "copy.host_to_device", gpu.host_to_device);
  append(out, "copy.device_to_host", gpu.device_to_host);
  append(out, "overlap", gpu.overlap);
  append(out, "power", gpu.power);
  return out;
}

}  // namespace stepsight
