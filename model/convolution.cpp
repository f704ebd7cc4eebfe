#include "model/convolution.h"

#include <algorithm>

#include "model/operators.h"

namespace stepsight {

namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

std::int64_t rows_of(const Convolution& c) {
  return c.batch * out_height(c) * out_width(c);
}

}  // namespace

Flops flops(const Convolution& c) {
  return Flops{2.0 * real(rows_of(c)) * real(c.out) * real(c.channels) * real(c.kernel_height) *
               real(c.kernel_width) / real(c.groups)};
}

Bytes bytes(const Convolution& c) {
  const double image = real(c.batch * c.height * c.width) * real(c.channels);
  const double filters =
      real(c.out) * real(c.channels / c.groups) * real(c.kernel_height * c.kernel_width);
  const double result = real(rows_of(c)) * real(c.out);
  return Bytes{(image + filters + result) * info(c.dtype).bytes};
}

Gemm implicit_gemm(const Convolution& c, int multiprocessors) {
  const std::int64_t window = c.kernel_height * c.kernel_width;
  const std::int64_t in = (c.channels / c.groups + 7) / 8 * 8;
  const std::int64_t out = c.out / c.groups;
  const std::int64_t rows = rows_of(c);
  switch (c.direction) {
    case ConvolutionDirection::forward:
      return {rows, out, in * window, c.groups, c.dtype, Layout::TN};
    case ConvolutionDirection::dgrad:
      return {rows, in, out * window, c.groups, c.dtype, Layout::NN};
    case ConvolutionDirection::wgrad:
      break;
  }
  constexpr std::int64_t tile = 128;
  constexpr std::int64_t shallowest = 512;
  const std::int64_t tiles =
      c.groups * ((out + tile - 1) / tile) * ((in * window + tile - 1) / tile);
  const std::int64_t parts = std::clamp<std::int64_t>(
      multiprocessors / tiles, 1, std::max<std::int64_t>(1, rows / shallowest));
  return {out, in * window, (rows + parts - 1) / parts, c.groups * parts, c.dtype, Layout::NT};
}

}  // namespace stepsight
