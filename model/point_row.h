// A measured point as a profile keeps it: the numbers of its shape, its time, and how far the
// formula is from it.
//   gemm        m, n, k, batch, layout (0 TN, 1 NN, 2 NT)
//   attention   batch, heads, kv_heads, seq, head_dim, causal (1) plus dropout (2)
//   conv...     channels, height (= width), out, kernel height (= width), stride, batch; padded by
//   half
//               the kernel
//   a pass      rows, cols; the last number is the format's place in `dtypes`
//   collective  ranks, message bytes; `type` is the link
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace stepsight {

struct PointRow {
  std::string op;    // "gemm", "attention", "attention_backward", "conv", a pass, a collective
  std::string type;  // number format; link for collectives; empty for passes
  std::array<std::int64_t, 6> shape{};
  double time_us = 0;
  double log_residual = 0;  // log(time / formula)
};

}  // namespace stepsight
