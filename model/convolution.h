// A convolution over images and its two gradients, as plain data: sizes, work and the matrix
// product that it amounts to. Its cost is in model/cost.h.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "model/dtype.h"
#include "model/units.h"

namespace stepsight {

struct Gemm;

enum class ConvolutionDirection : std::uint8_t { forward, dgrad, wgrad };

// The op names of measurement files and of the command line, in the order of the enumerators.
inline constexpr std::array<std::string_view, 3> convolution_names{
    "conv", "conv_dgrad", "conv_wgrad"};

// `batch` images of `channels` x height x width, channels last, with `out` filters of kernel_height
// x kernel_width. The gradients have the sizes of the forward convolution that they belong to.
struct Convolution {
  std::int64_t batch = 1;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t out = 0;
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;  // divides channels and out
  ConvolutionDirection direction = ConvolutionDirection::forward;
  Dtype dtype = Dtype::bf16;
};

// Rows and columns of the result; at least 1 for sizes that make sense (kernel <= size + 2
// padding).
constexpr std::int64_t out_height(const Convolution& c) {
  return (c.height + 2 * c.padding - c.kernel_height) / c.stride + 1;
}
constexpr std::int64_t out_width(const Convolution& c) {
  return (c.width + 2 * c.padding - c.kernel_width) / c.stride + 1;
}

// 2 batch out_height out_width out channels kernel_height kernel_width / groups, in every
// direction.
Flops flops(const Convolution& convolution);
// Image, filters and result once each.
Bytes bytes(const Convolution& convolution);
// Fewer channels than 8 (an RGB image) are padded to 8 before tensor cores take them.
constexpr bool is_narrow(const Convolution& c) {
  return c.channels / c.groups % 8 != 0;
}

// The product of the same FLOP (implicit GEMM; Chetlur et al. 2014, cuDNN, section 3), with padded
// channels:
//   forward  (batch out_height out_width) x out, depth channels kernel
//   dgrad    the same rows x channels, depth out kernel: of a strided window each pixel meets
//            1 / stride^2 of the taps
//   wgrad    out x (channels kernel), depth the rows, cut along the depth into enough parts to give
//            `multiprocessors` a tile of 128 x 128 each
Gemm implicit_gemm(const Convolution& convolution, int multiprocessors);

}  // namespace stepsight
