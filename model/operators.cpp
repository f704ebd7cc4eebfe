#include "model/operators.h"

#include <algorithm>
#include <numeric>

namespace stepsight {

namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

// The order of the table is the order of the enum, so that a lookup is an index.
consteval bool table_is_in_order() {
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (static_cast<std::size_t>(passes[i].kind) != i) return false;
  }
  return true;
}
static_assert(table_is_in_order());

}  // namespace

Flops flops(const Gemm& gemm) {
  return Flops{2.0 * real(gemm.batch) * real(gemm.m) * real(gemm.n) * real(gemm.k)};
}

Flops flops(const Attention& attention) {
  const double scores = real(attention.batch) * real(attention.heads) * real(attention.seq) *
                        real(attention.seq) * (attention.causal ? 0.5 : 1.0);
  return Flops{(attention.backward ? 10.0 : 4.0) * scores * real(attention.head_dim)};
}

Bytes bytes(const Gemm& gemm) {
  const double elements =
      real(gemm.m) * real(gemm.k) + real(gemm.n) * real(gemm.k) + real(gemm.m) * real(gemm.n);
  return Bytes{real(gemm.batch) * elements * info(gemm.dtype).bytes};
}

Bytes result_bytes(const Gemm& gemm) {
  return Bytes{real(gemm.batch) * real(gemm.m) * real(gemm.n) * info(gemm.dtype).bytes};
}

Bytes bytes(const Pass& pass) {
  const PassInfo& row = info(pass.kind);
  const double width =
      (row.wide_read + row.wide_written) * info(pass.dtype).bytes + row.fixed_bytes;
  return Bytes{real(pass.rows) * real(pass.cols) * width};
}

int row_alignment(std::int64_t size, Dtype type) {
  const auto bytes = static_cast<std::int64_t>(info(type).bytes);
  return static_cast<int>(bytes * std::gcd(size, 16 / bytes));
}

int alignment(const Gemm& gemm) {
  if (gemm.k == 1) return row_alignment(1, gemm.dtype);
  const auto rows = [&](std::int64_t size) {
    return size == 1 ? 16 : row_alignment(size, gemm.dtype);
  };
  return std::min(rows(gemm.layout == Layout::NT ? gemm.m : gemm.k), rows(gemm.n));
}

}  // namespace stepsight
