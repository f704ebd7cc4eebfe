// What a training step asks of a GPU, as plain data: matrix products, attention, convolutions
// (model/convolution.h) and memory-bound passes. What they cost is in model/cost.h; which of them a model needs is in model/transformer.h.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "model/attention_generation.h"
#include "model/convolution.h"
#include "model/dtype.h"
#include "model/units.h"

namespace stepsight {

// Storage of the factors of C[m,n] = A B, row-major, as a linear layer y = x w^T needs them:
//   TN  forward          A[m,k], B[n,k]     (tokens x in) times (out x in)^T
//   NN  input gradient   A[m,k], B[k,n]
//   NT  weight gradient  A[k,m], B[k,n]
enum class Layout : std::uint8_t { TN, NN, NT };

struct Gemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  Dtype dtype = Dtype::bf16;
  Layout layout = Layout::TN;
};

// Scaled dot-product attention; the backward pass computes the three input gradients.
struct Attention {
  std::int64_t batch = 1;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t seq = 0;  // of query and of key
  std::int64_t head_dim = 0;
  bool causal = true;
  bool backward = false;
  bool dropout = false;
  Dtype dtype = Dtype::bf16;
  AttentionKernel kernel = AttentionKernel::usual;
};

// Kernels that move bytes and do next to no arithmetic. One kind is one kernel (or the fixed set of
// kernels) that a framework launches for it; each has a rate of its own, because a strided or a
// mixed-precision kernel reaches half of the bandwidth that a vectorised one does.
enum class PassKind : std::uint8_t {
  fill,
  copy,
  add,
  gelu,
  gelu_backward,
  silu,
  silu_backward,
  silu_strided,
  mul_strided,
  silu_backward_strided,
  cast_down,
  cast_up,
  add_mixed,
  add_broadcast,
  dropout,
  transpose,
  concat,
  layer_norm,
  layer_norm_backward,
  rms_norm,
  rms_norm_backward,
  bias_gradient,
  softmax,
  softmax_backward,
  log_softmax,
  log_softmax_backward,
  nll_loss,
  embedding,
  embedding_backward,
  adamw,
  sgd,
  fused_norm,
  fused_norm_backward,
  fused_gelu,
  fused_gelu_backward,
  fused_swiglu,
  fused_swiglu_backward,
  fused_loss,
  fused_loss_backward,
  batch_norm,
  batch_norm_backward,
  max_pool,
  max_pool_backward,
  fused_batch_norm,
  fused_batch_norm_add,
  fused_batch_norm_backward,
  concat_column,
  scaled_sum,
  scaled_twice,
  masked_fill,
  copy_region,
  copy_apart,
  index_add,
};

// Global-memory traffic of one element: `wide` bytes count in units of the pass's own type, `fixed`
// in bytes whatever the type (masks, casts, fp32 logits).
struct PassInfo {
  PassKind kind;
  std::string_view name;  // also the op name in measurement files
  double wide_read;
  double wide_written;
  double fixed_bytes;
  std::string_view what;
};

inline constexpr std::array<PassInfo, 53> passes{{
    {PassKind::fill, "fill", 0, 1, 0, "write a constant"},
    {PassKind::copy, "copy", 1, 1, 0, "copy, same type"},
    {PassKind::add, "add", 2, 1, 0, "vectorised binary elementwise: residual add, product, accumulate"},
    {PassKind::gelu, "gelu", 1, 1, 0, "GELU"},
    {PassKind::gelu_backward, "gelu_backward", 2, 1, 0, "GELU backward"},
    {PassKind::silu, "silu", 1, 1, 0, "SiLU on a contiguous tensor"},
    {PassKind::silu_backward, "silu_backward", 2, 1, 0, "SiLU backward, contiguous"},
    {PassKind::silu_strided, "silu_strided", 1, 1, 0, "SiLU on half of a fused gate-up output"},
    {PassKind::mul_strided, "mul_strided", 2, 1, 0, "product with half of a fused gate-up output"},
    {PassKind::silu_backward_strided, "silu_backward_strided", 2, 1, 0,
     "SiLU backward on half of a fused gate-up output"},
    {PassKind::cast_down, "cast_down", 0, 0, 6, "fp32 to a 16-bit type"},
    {PassKind::cast_up, "cast_up", 0, 0, 6, "16-bit type to fp32"},
    {PassKind::add_mixed, "add_mixed", 0, 0, 10, "16-bit plus fp32 to fp32"},
    {PassKind::add_broadcast, "add_broadcast", 1, 1, 0, "add with a broadcast operand"},
    {PassKind::dropout, "dropout", 1, 1, 1, "dropout with its mask"},
    {PassKind::transpose, "transpose", 1, 1, 0, "copy with two dimensions exchanged"},
    {PassKind::concat, "concat", 1, 1, 0, "concatenate along the last dimension"},
    {PassKind::layer_norm, "layer_norm", 1, 1, 0, "LayerNorm forward"},
    {PassKind::layer_norm_backward, "layer_norm_backward", 4, 1, 0,
     "LayerNorm backward: input gradient, then weight and bias gradient"},
    {PassKind::rms_norm, "rms_norm", 1, 1, 0, "RMSNorm forward"},
    {PassKind::rms_norm_backward, "rms_norm_backward", 4, 1, 0,
     "RMSNorm backward: input gradient, then weight gradient"},
    {PassKind::bias_gradient, "bias_gradient", 1, 0, 0, "sum over the rows"},
    {PassKind::softmax, "softmax", 1, 1, 0, "softmax of attention scores"},
    {PassKind::softmax_backward, "softmax_backward", 2, 1, 0, "softmax backward"},
    {PassKind::log_softmax, "log_softmax", 1, 1, 0, "log-softmax of the logits"},
    {PassKind::log_softmax_backward, "log_softmax_backward", 2, 1, 0, "log-softmax backward"},
    {PassKind::nll_loss, "nll_loss", 0, 0, 0, "pick the targets' log-probabilities (cost a row)"},
    {PassKind::embedding, "embedding", 1, 1, 0, "gather rows of a table"},
    {PassKind::embedding_backward, "embedding_backward", 1, 0, 0,
     "sort, reduce and scatter the rows' gradients (a fill of the table comes apart)"},
    {PassKind::adamw, "adamw", 4, 3, 0, "fused AdamW: weight, gradient and two moments"},
    {PassKind::sgd, "sgd", 2, 1, 0, "SGD: weight and gradient"},
    {PassKind::fused_norm, "fused_norm", 2, 2, 0, "compiled: residual add and norm in one kernel"},
    {PassKind::fused_norm_backward, "fused_norm_backward", 5, 1, 0,
     "compiled: norm backward with the residual gradient"},
    {PassKind::fused_gelu, "fused_gelu", 1, 1, 0, "compiled: GELU"},
    {PassKind::fused_gelu_backward, "fused_gelu_backward", 2, 1, 0, "compiled: GELU backward"},
    {PassKind::fused_swiglu, "fused_swiglu", 2, 1, 0, "compiled: SiLU times up in one kernel"},
    {PassKind::fused_swiglu_backward, "fused_swiglu_backward", 3, 2, 0,
     "compiled: both gradients of SiLU times up"},
    {PassKind::fused_loss, "fused_loss", 2, 0, 0, "compiled: log-sum-exp over the 16-bit logits"},
    {PassKind::fused_loss_backward, "fused_loss_backward", 1, 1, 0,
     "compiled: gradient of the logits"},
    {PassKind::batch_norm, "batch_norm", 2, 1, 0,
     "batch norm over pixels x channels: statistics, then normalise"},
    {PassKind::batch_norm_backward, "batch_norm_backward", 4, 1, 0,
     "batch norm backward: two sums, then the input gradient"},
    {PassKind::max_pool, "max_pool", 4, 1, 8,
     "max pool of windows at stride 2, with 64-bit indices; counted in outputs"},
    {PassKind::max_pool_backward, "max_pool_backward", 1, 4, 8,
     "max pool backward over its filled input gradient; counted in outputs"},
    {PassKind::fused_batch_norm, "fused_batch_norm", 2, 1, 0,
     "compiled: batch norm with its activation"},
    {PassKind::fused_batch_norm_add, "fused_batch_norm_add", 3, 1, 0,
     "compiled: batch norm, residual add and activation"},
    {PassKind::fused_batch_norm_backward, "fused_batch_norm_backward", 4, 1, 2,
     "compiled: activation and batch norm backward"},
    {PassKind::concat_column, "concat_column", 1, 1, 0, "scores with a column of zeros before them"},
    {PassKind::scaled_sum, "scaled_sum", 2, 1, 0, "sum of two tensors, scaled, one of them in odd rows"},
    {PassKind::scaled_twice, "scaled_twice", 1, 2, 0, "a scaled gradient for each of two operands"},
    {PassKind::masked_fill, "masked_fill", 1, 1, 0, "a constant where a broadcast mask is set"},
    {PassKind::copy_region, "copy_region", 1, 1, 0, "copy into a part of a larger tensor"},
    {PassKind::copy_apart, "copy_apart", 1, 1, 0, "copy out of odd rows, dimensions exchanged"},
    {PassKind::index_add, "index_add", 2, 1, 0, "add rows to those of a table that an index names"},
}};

constexpr const PassInfo& info(PassKind kind) { return passes[static_cast<std::size_t>(kind)]; }

constexpr std::optional<PassKind> parse_pass(std::string_view name) {
  for (const PassInfo& row : passes) {
    if (row.name == name) return row.kind;
  }
  return std::nullopt;
}

// Kinds whose time depends on rows and columns apart, not only on their product.
constexpr bool by_row(PassKind kind) {
  switch (kind) {
    case PassKind::layer_norm:
    case PassKind::layer_norm_backward:
    case PassKind::rms_norm:
    case PassKind::rms_norm_backward:
    case PassKind::bias_gradient:
    case PassKind::softmax:
    case PassKind::softmax_backward:
    case PassKind::log_softmax:
    case PassKind::log_softmax_backward:
    case PassKind::nll_loss:
    case PassKind::embedding:
    case PassKind::embedding_backward:
    case PassKind::adamw:
    case PassKind::sgd:
    case PassKind::fused_norm:
    case PassKind::fused_norm_backward:
    case PassKind::fused_loss:
    case PassKind::fused_loss_backward:
    case PassKind::batch_norm:
    case PassKind::batch_norm_backward:
    case PassKind::max_pool:
    case PassKind::max_pool_backward:
    case PassKind::fused_batch_norm:
    case PassKind::fused_batch_norm_add:
    case PassKind::fused_batch_norm_backward: return true;
    default: return false;
  }
}

// One pass over rows x cols elements. `dtype` is the type that PassInfo's wide columns count in.
struct Pass {
  PassKind kind = PassKind::copy;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Dtype dtype = Dtype::bf16;
};

using Work = std::variant<Gemm, Attention, Pass, Convolution>;

struct Operator {
  Work work;
  std::string_view label;  // static text, for timelines and breakdowns: "mlp up"
};

// 2 m n k for every product of the batch.
Flops flops(const Gemm& gemm);
// Forward: two products of 2 s^2 d a head; a causal mask halves them; backward needs five products
// (recomputing the scores), 2.5 times as many (Dao, FlashAttention-2, 2023, section 3).
Flops flops(const Attention& attention);
// Each factor once and the result once.
Bytes bytes(const Gemm& gemm);
Bytes result_bytes(const Gemm& gemm);
Bytes bytes(const Pass& pass);

// Bytes of the widest load or store that keeps to 16 of them (what the tensor cores' fast kernels
// need) for rows of `size` elements: 16, or the largest power of two that divides a row.
int row_alignment(std::int64_t size, Dtype type);

// The least of the rows of the factors and of the result: TN and NN rows of k and n, NT of m and n. A
// dimension of 1 beside a longer one is a vector, whose rows are not rows; k = 1 makes rows of one
// element in each layout, because the library takes either storage of a column as the same.
int alignment(const Gemm& gemm);

}  // namespace stepsight
