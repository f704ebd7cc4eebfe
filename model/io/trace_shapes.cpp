#include "model/io/trace_shapes.h"

#include <array>
#include <charconv>

namespace stepsight {

namespace {

constexpr std::int64_t largest = std::int64_t{1} << 40;

bool sane(std::int64_t v) {
  return v > 0 && v <= largest;
}

const TraceDims* dims(const std::vector<TraceDims>& list, std::size_t i, std::size_t rank) {
  return i < list.size() && list[i].count == rank ? &list[i] : nullptr;
}

std::optional<Dtype> dtype_of(const TraceEvent& e, std::size_t i) {
  return i < e.types.size() ? traced_dtype(e.types[i]) : std::nullopt;
}

// "[2, 2]"; empty where the text is no list of non-negative integers.
std::vector<std::int64_t> list_of(std::string_view text) {
  std::vector<std::int64_t> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && out.size() < TraceDims::most) {
    if (*at < '0' || *at > '9') {
      ++at;
      continue;
    }
    std::int64_t v = 0;
    const auto [next, error] = std::from_chars(at, end, v);
    if (error != std::errc{} || v > largest) return {};
    out.push_back(v);
    at = next;
  }
  return out;
}

std::string_view value(const TraceEvent& e, std::size_t i) {
  return i < e.values.size() ? std::string_view(e.values[i]) : std::string_view();
}

// The factors a[.., m, k] and b[.., k, n], inputs `first` and `first + 1`.
std::optional<Work> product(const TraceEvent& e, std::size_t first, std::size_t rank) {
  const TraceDims* a = dims(e.sizes, first, rank);
  const TraceDims* b = dims(e.sizes, first + 1, rank);
  const std::optional<Dtype> dtype = dtype_of(e, first);
  if (a == nullptr || b == nullptr || !dtype) return std::nullopt;
  Gemm g;
  g.batch = rank == 3 ? a->at[0] : 1;
  g.m = a->at[rank - 2];
  g.k = a->at[rank - 1];
  g.n = b->at[rank - 1];
  g.dtype = *dtype;
  if (!sane(g.batch) || !sane(g.m) || !sane(g.n) || !sane(g.k)) return std::nullopt;
  const TraceDims* sa = dims(e.strides, first, rank);
  const TraceDims* sb = dims(e.strides, first + 1, rank);
  if (sa == nullptr || sb == nullptr) return g;
  const bool a_along_k = sa->at[rank - 1] == 1;
  const bool b_along_k = sb->at[rank - 2] == 1 && sb->at[rank - 1] != 1;
  if (a_along_k) {
    g.layout = b_along_k ? Layout::TN : Layout::NN;
  } else if (!b_along_k) {
    g.layout = Layout::NT;
  } else {  // the product of the transposed, whose first factor lies along k
    std::swap(g.m, g.n);
    g.layout = Layout::NN;
  }
  return g;
}

// Positions of `output` (batch and places), channels of `weight`.
std::optional<Work> unfolded(std::int64_t places,
                             const TraceDims& weight,
                             std::int64_t groups,
                             std::optional<Dtype> dtype) {
  if (!dtype || !sane(groups) || weight.count > TraceDims::most || !sane(places)) {
    return std::nullopt;
  }
  Gemm g;
  g.m = places;
  g.n = weight.at[0] / groups;
  g.k = 1;
  g.batch = groups;
  g.dtype = *dtype;
  for (std::size_t i = 1; i < weight.count; ++i) {
    if (!sane(weight.at[i]) || g.k > largest / weight.at[i]) return std::nullopt;
    g.k *= weight.at[i];
  }
  if (!sane(g.n) || !sane(g.k)) return std::nullopt;
  return g;
}

// Elements of all dimensions but the second; 0 where one is out of range.
std::int64_t places_of(const TraceDims& output) {
  std::int64_t out = output.at[0];
  for (std::size_t i = 2; i < output.count && i < TraceDims::most; ++i) {
    if (!sane(out) || !sane(output.at[i]) || out > largest / output.at[i]) return 0;
    out *= output.at[i];
  }
  return out;
}

// (input, weight, padding, stride, dilation, groups)
std::optional<Work> convolution(const TraceEvent& e) {
  if (e.sizes.size() < 2 || e.values.size() < 6) return std::nullopt;
  const TraceDims& input = e.sizes[0];
  const TraceDims& weight = e.sizes[1];
  if (input.count != weight.count || input.count < 3 || input.count > TraceDims::most) {
    return std::nullopt;
  }
  const std::vector<std::int64_t> padding = list_of(value(e, 2));
  const std::vector<std::int64_t> stride = list_of(value(e, 3));
  const std::vector<std::int64_t> dilation = list_of(value(e, 4));
  const std::vector<std::int64_t> groups = list_of(value(e, 5));
  const std::size_t axes = input.count - 2;
  if (padding.size() != axes || stride.size() != axes || dilation.size() != axes ||
      groups.size() != 1) {
    return std::nullopt;
  }
  TraceDims output = input;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t window = weight.at[i + 2];
    if (!sane(input.at[i + 2]) || !sane(window) || stride[i] < 1) return std::nullopt;
    if (dilation[i] > largest / window) return std::nullopt;
    const std::int64_t room = input.at[i + 2] + 2 * padding[i] - dilation[i] * (window - 1) - 1;
    output.at[i + 2] = room < 0 ? 0 : room / stride[i] + 1;
  }
  return unfolded(places_of(output), weight, groups.front(), dtype_of(e, 0));
}

// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
// groups)
std::optional<Work> convolution_backward(const TraceEvent& e) {
  if (e.sizes.size() < 3 || value(e, 7) == "True") return std::nullopt;
  const std::vector<std::int64_t> groups = list_of(value(e, 9));
  if (groups.size() != 1) return std::nullopt;
  return unfolded(places_of(e.sizes[0]), e.sizes[2], groups.front(), dtype_of(e, 0));
}

// Where PyTorch's attention operators carry what a cost depends on.
struct AttentionRow {
  std::string_view name;
  bool backward;
  std::size_t query;          // input; key follows
  bool heads_first;           // [batch, heads, seq, width], else [batch, seq, heads, width]
  std::size_t dropout, mask;  // arguments
  std::string_view causal;    // the mask's value for a causal one
};

constexpr std::array<AttentionRow, 6> attention_rows{{
    {"aten::_cudnn_attention_forward", false, 0, true, 9, 10, "True"},
    {"aten::_cudnn_attention_backward", true, 1, true, 13, 14, "True"},
    {"aten::_flash_attention_forward", false, 0, false, 7, 8, "True"},
    {"aten::_flash_attention_backward", true, 1, false, 10, 11, "True"},
    {"aten::_efficient_attention_forward", false, 0, false, 8, 9, "1"},
    {"aten::_efficient_attention_backward", true, 1, false, 11, 14, "1"},
}};

std::optional<Work> attention(const TraceEvent& e, const AttentionRow& row) {
  const TraceDims* query = dims(e.sizes, row.query, 4);
  const TraceDims* key = dims(e.sizes, row.query + 1, 4);
  const std::optional<Dtype> dtype = dtype_of(e, row.query);
  if (query == nullptr || key == nullptr || !dtype) return std::nullopt;
  const std::size_t heads = row.heads_first ? 1 : 2;
  const std::size_t seq = row.heads_first ? 2 : 1;
  Attention a;
  a.batch = query->at[0];
  a.heads = query->at[heads];
  a.kv_heads = key->at[heads];
  a.seq = query->at[seq];
  a.head_dim = query->at[3];
  a.backward = row.backward;
  a.dtype = *dtype;
  a.causal = value(e, row.mask) == row.causal;
  const std::string_view dropout = value(e, row.dropout);
  a.dropout = dropout.find_first_of("123456789") != std::string_view::npos;
  const bool good = sane(a.batch) && sane(a.heads) && sane(a.kv_heads) && sane(a.seq) &&
                    sane(a.head_dim) && key->at[seq] == a.seq;
  if (!good) return std::nullopt;
  return a;
}

// Memory-bound operators that launch what the model counts as one pass, over the elements of one
// input: rows are all dimensions but the last.
struct PassRow {
  std::string_view name;
  PassKind kind;
  std::size_t input;
};

constexpr std::array<PassRow, 20> pass_rows{{
    {"aten::gelu", PassKind::gelu, 0},
    {"aten::gelu_backward", PassKind::gelu_backward, 0},
    {"aten::silu", PassKind::silu, 0},
    {"aten::silu_backward", PassKind::silu_backward, 0},
    {"aten::relu", PassKind::copy, 0},
    {"aten::clamp_min", PassKind::copy, 0},
    {"aten::clamp_min_", PassKind::copy, 0},
    {"aten::threshold_backward", PassKind::add, 0},
    {"aten::native_layer_norm", PassKind::layer_norm, 0},
    {"aten::native_layer_norm_backward", PassKind::layer_norm_backward, 0},
    {"aten::_fused_rms_norm", PassKind::rms_norm, 0},
    {"aten::_fused_rms_norm_backward", PassKind::rms_norm_backward, 0},
    {"aten::_softmax", PassKind::softmax, 0},
    {"aten::_softmax_backward_data", PassKind::softmax_backward, 0},
    {"aten::_log_softmax", PassKind::log_softmax, 0},
    {"aten::_log_softmax_backward_data", PassKind::log_softmax_backward, 0},
    {"aten::nll_loss_forward", PassKind::nll_loss, 0},
    {"aten::nll_loss_backward", PassKind::nll_loss, 1},
    {"aten::native_dropout", PassKind::dropout, 0},
    {"aten::embedding_dense_backward", PassKind::embedding_backward, 0},
}};

std::optional<Work> pass_over(const TraceEvent& e, PassKind kind, std::size_t input) {
  const std::optional<Dtype> dtype = dtype_of(e, input);
  if (!dtype || input >= e.sizes.size()) return std::nullopt;
  const TraceDims& d = e.sizes[input];
  if (d.count == 0 || d.count > TraceDims::most) return std::nullopt;
  Pass p{kind, 1, d.at[d.count - 1], *dtype};
  for (std::size_t i = 0; i + 1 < d.count; ++i) {
    if (!sane(d.at[i]) || p.rows > largest / d.at[i]) return std::nullopt;
    p.rows *= d.at[i];
  }
  if (!sane(p.cols) || p.rows > largest / p.cols) return std::nullopt;
  return p;
}

// Two tensors of one size and type; with a number or a broadcast operand it is another kernel.
std::optional<Work> binary(const TraceEvent& e) {
  if (e.sizes.size() < 2 || e.types.size() < 2 || e.types[0] != e.types[1]) return std::nullopt;
  if (e.sizes[0].at != e.sizes[1].at || e.sizes[0].count != e.sizes[1].count) return std::nullopt;
  return pass_over(e, PassKind::add, 0);
}

// (to, from): a cast where the types differ, an exchange of dimensions where the strides do.
std::optional<Work> copy(const TraceEvent& e) {
  const std::optional<Dtype> to = dtype_of(e, 0);
  const std::optional<Dtype> from = dtype_of(e, 1);
  if (!to || !from) return std::nullopt;
  const double widths = info(*to).bytes - info(*from).bytes;
  if (widths != 0) {
    std::optional<Work> cast =
        pass_over(e, widths > 0 ? PassKind::cast_up : PassKind::cast_down, 0);
    if (cast) std::get<Pass>(*cast).dtype = widths > 0 ? *from : *to;
    return cast;
  }
  const bool strides = e.strides.size() > 1;
  const bool exchanged = strides && e.strides[0].at != e.strides[1].at;
  return pass_over(e, exchanged ? PassKind::transpose : PassKind::copy, 0);
}

std::optional<Work> pass(const TraceEvent& e) {
  const std::string_view name = e.name;
  for (const PassRow& row : pass_rows) {
    if (row.name == name) return pass_over(e, row.kind, row.input);
  }
  if (name == "aten::_fused_adamw_" || name == "aten::_fused_adam_") {
    return Pass{PassKind::adamw, 0, 0, Dtype::fp32};
  }
  if (name == "aten::_fused_sgd_") return Pass{PassKind::sgd, 0, 0, Dtype::fp32};
  if (name == "aten::fill_") return pass_over(e, PassKind::fill, 0);
  if (name == "aten::copy_") return copy(e);
  if (name == "aten::add" || name == "aten::add_" || name == "aten::mul" || name == "aten::mul_") {
    return binary(e);
  }
  const bool over_rows = name == "aten::sum" && dims(e.sizes, 0, 2) != nullptr;
  if (over_rows && value(e, 1) == "[0]") return pass_over(e, PassKind::bias_gradient, 0);
  return std::nullopt;
}

}  // namespace

std::optional<Dtype> traced_dtype(std::string_view name) {
  if (name == "float") return Dtype::fp32;
  if (name == "c10::BFloat16") return Dtype::bf16;
  if (name == "c10::Half") return Dtype::fp16;
  if (name.starts_with("c10::Float8")) return Dtype::fp8;
  return std::nullopt;
}

std::optional<Work> traced_work(const TraceEvent& e) {
  const std::string_view name = e.name;
  if (name == "aten::mm" || name == "aten::_scaled_mm") return product(e, 0, 2);
  if (name == "aten::addmm" || name == "aten::_addmm_activation") return product(e, 1, 2);
  if (name == "aten::bmm") return product(e, 0, 3);
  if (name == "aten::baddbmm") return product(e, 1, 3);
  if (name == "aten::cudnn_convolution" || name == "aten::miopen_convolution") {
    return convolution(e);
  }
  if (name == "aten::convolution_backward") return convolution_backward(e);
  for (const AttentionRow& row : attention_rows) {
    if (row.name == name) return attention(e, row);
  }
  return pass(e);
}

}  // namespace stepsight
