// Which matrix products to measure so that the fit of the GEMM cost is well informed.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/dtype.h"

namespace stepsight::calibrate {

// How the row-major operands of y[m,n] = a[m,k] * b[k,n] lie in memory, in cuBLAS' letters:
// TN: b stored as [n,k]   forward of a linear layer, x[m,k] * w[n,k]^T
// NN: b stored as [k,n]   gradient of its input,     dy[m,k] * w[k,n]
// NT: a stored as [k,m]   gradient of its weight,    dy[k,m]^T * x[k,n], k = tokens
enum class GemmLayout { tn, nn, nt };

// "TN", "NN", "NT".
std::string_view name(GemmLayout layout);

struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Dtype dtype = Dtype::bf16;
  GemmLayout layout = GemmLayout::tn;

  bool operator==(const GemmShape&) const = default;
};

// 2 m n k.
double flops(const GemmShape& shape);

// Bytes of the three matrices as they lie in memory; an fp8 product writes bf16.
std::int64_t left_bytes(const GemmShape& shape);
std::int64_t right_bytes(const GemmShape& shape);
std::int64_t output_bytes(const GemmShape& shape);

// About 350 shapes (quick) or 1400 (full), each once, in an order in which every prefix holds all
// kinds and number formats in proportion: a run that is cut short is still informative. Seven parts
// of ten are bf16, the other formats share the rest. The same list every time, on every machine.
// On an H200 a shape takes about 0.09 s, pauses and all: 30 s and 130 s. Round 2 and those after it
// go on where the one before ended, with other shapes of the same kinds, as long as a kind has any
// left: what lies between points is read from its neighbours, so that a denser table errs less.
// Empty once every shape is in an earlier round.
std::vector<GemmShape> gemm_design(bool full, std::int64_t round = 1);

}  // namespace stepsight::calibrate
