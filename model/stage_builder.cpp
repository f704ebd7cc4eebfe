#include "model/stage_builder.h"

#include <algorithm>
#include <cmath>
#include <ranges>

namespace stepsight {

namespace {

double size_of(Dtype type) {
  return info(type).bytes;
}
double real(std::int64_t value) {
  return static_cast<double>(value);
}

}  // namespace

StageBuilder::StageBuilder(const ModelShape& shape, const Training& training)
    : shape_(shape), training_(training), tokens_(training.batch * training.seq) {}

Dtype StageBuilder::stream() const {
  return training_.precision.mixed ? Dtype::fp32 : training_.precision.compute;
}

void StageBuilder::ready(std::string_view role, std::int64_t elements) {
  Piece& p = pieces_.back();
  p.ready.push_back({static_cast<std::uint32_t>(p.backward.size() - 1), elements, role});
}

void StageBuilder::norm(std::string_view label, bool residual) {
  const std::int64_t h = shape_.hidden;
  const bool rms = shape_.rms_norm;
  piece();
  if (fused()) {
    forward(label, pass(PassKind::fused_norm, h, stream()));
    backward(label, pass(PassKind::fused_norm_backward, h, stream()));
  } else {
    forward(label, pass(rms ? PassKind::rms_norm : PassKind::layer_norm, h, stream()));
    backward(label,
             pass(rms ? PassKind::rms_norm_backward : PassKind::layer_norm_backward, h, stream()));
  }
  ready("norm.weight", h);
  if (!rms && shape_.bias) ready("norm.bias", h);
  if (residual && !fused()) backward("residual gradient", pass(PassKind::add, h, stream()));
  save(real(tokens_ * h) * size_of(stream()));  // its input
}

void StageBuilder::linear(const Linear& layer) {
  const std::int64_t weights = layer.in * layer.out;
  const std::int64_t rows = rows_of(layer);
  const bool mixed = training_.precision.mixed;
  const bool cast_input = mixed && layer.input == Dtype::fp32;
  piece();
  if (mixed) {
    if (layer.bias && !fused()) {
      forward(layer.label, Pass{PassKind::cast_down, 1, layer.out, compute()});
    }
    forward(layer.label, Pass{PassKind::cast_down, layer.out, layer.in, compute()});
    if (cast_input && !fused()) {
      forward(layer.label, Pass{PassKind::cast_down, rows, layer.in, compute()});
    }
    save(real(weights) * size_of(compute()));  // autocast keeps the cast weight until backward
  }
  forward(layer.label, Gemm{rows, layer.out, layer.in, 1, compute(), Layout::TN});
  save(real(rows * layer.in) * size_of(compute()));
  linear_backward(layer, cast_input);
}

void StageBuilder::linear_backward(const Linear& layer, bool cast_input) {
  const bool mixed = training_.precision.mixed;
  const std::int64_t rows = rows_of(layer);
  const std::string_view label = layer.label;
  backward(label, Gemm{rows, layer.in, layer.out, 1, compute(), Layout::NN});
  backward(label, Gemm{layer.out, layer.in, rows, 1, compute(), Layout::NT});
  if (mixed) backward(label, Pass{PassKind::cast_up, layer.out, layer.in, compute()});
  if (!layer.weight_gradient_pending) ready("weight", layer.in * layer.out);
  if (layer.bias) {
    backward(label, Pass{PassKind::bias_gradient, rows, layer.out, compute()});
    if (mixed && !fused()) backward(label, Pass{PassKind::cast_up, 1, layer.out, compute()});
    ready("bias", layer.out);
  }
  if (cast_input && !fused()) {
    backward(label, Pass{PassKind::cast_up, rows, layer.in, compute()});
  }
  for (int i = 0; i < layer.extra_gradients; ++i) {
    backward("input gradient", Pass{PassKind::add, rows, layer.in, layer.input});
  }
}

void StageBuilder::attention() {
  piece();
  if (training_.flash_attention) {
    fused_attention();
  } else {
    unfused_attention();
  }
  const double rows = real(training_.batch * shape_.heads * training_.seq);
  save(rows * (real(shape_.head_dim) * size_of(compute()) + 4));  // output and log-sum-exp
}

void StageBuilder::fused_attention() {
  Attention a{training_.batch,
              shape_.heads,
              shape_.kv_heads,
              training_.seq,
              shape_.head_dim,
              shape_.family != Family::bert,
              false,
              shape_.dropout > 0,
              compute()};
  forward("attention", a);
  a.backward = true;
  backward("attention", a);
  if (shape_.fused_qkv) {
    // The three gradients become one tensor again for the fused projection.
    const std::int64_t width = (shape_.heads + 2 * shape_.kv_heads) * shape_.head_dim;
    backward("qkv gradient", pass(PassKind::concat, width, compute()));
  }
}

// Scores as a tensor: two batched products, and between them scale, mask, softmax and dropout, each
// a pass over heads x t x t elements of its own, forward and backward (the mask has no backward).
// The batched products want each head's rows together: query, key, value and the result are copied,
// and so are their gradients.
void StageBuilder::unfused_attention() {
  const std::int64_t heads = training_.batch * shape_.heads;
  const std::int64_t t = training_.seq;
  const std::int64_t d = shape_.head_dim;
  const Dtype type = compute();
  const auto scores = [&](PassKind kind) { return Pass{kind, heads * t, t, type}; };
  const std::int64_t width = (shape_.heads + 2 * shape_.kv_heads) * d;
  forward("attention split", pass(PassKind::transpose, width, type));
  forward("attention scores", Gemm{t, t, d, heads, type, Layout::TN});
  forward("attention scale", scores(PassKind::copy));
  forward("attention mask", scores(PassKind::add_broadcast));
  forward("attention softmax", scores(PassKind::softmax));
  if (shape_.dropout > 0) forward("attention dropout", scores(PassKind::dropout));
  forward("attention values", Gemm{t, d, t, heads, type, Layout::NN});
  forward("attention merge", pass(PassKind::transpose, shape_.heads * d, type));
  backward("attention merge", pass(PassKind::transpose, shape_.heads * d, type));
  backward("attention values", Gemm{t, t, d, heads, type, Layout::TN});
  backward("attention values", Gemm{t, d, t, heads, type, Layout::NT});
  if (shape_.dropout > 0) backward("attention dropout", scores(PassKind::dropout));
  backward("attention softmax", scores(PassKind::softmax_backward));
  backward("attention scale", scores(PassKind::copy));
  backward("attention scores", Gemm{t, d, t, heads, type, Layout::NN});
  backward("attention scores", Gemm{t, d, t, heads, type, Layout::NT});
  backward("attention split", pass(PassKind::transpose, width, type));
  // The scores before the softmax and the weights after it; with dropout its result and its mask
  // too.
  const double kept = shape_.dropout > 0 ? 3 * size_of(type) + 1 : 2 * size_of(type);
  save(real(heads * t) * real(t) * kept);
}

// Query and key times cosine plus their rotated halves times sine: per tensor two products, the
// rotation (negate and concatenate) and a sum, each way.
void StageBuilder::rotary() {
  const std::int64_t width = (shape_.heads + shape_.kv_heads) * shape_.head_dim;
  piece();
  if (fused()) {
    forward("rotary", pass(PassKind::copy, width, compute()));
    backward("rotary", pass(PassKind::copy, width, compute()));
    return;
  }
  for (const PassKind kind :
       {PassKind::mul_strided, PassKind::concat, PassKind::mul_strided, PassKind::add}) {
    forward("rotary", pass(kind, width, compute()));
  }
  for (const PassKind kind :
       {PassKind::mul_strided, PassKind::mul_strided, PassKind::concat, PassKind::add}) {
    backward("rotary", pass(kind, width, compute()));
  }
}

void StageBuilder::gelu(std::int64_t width) {
  piece();
  forward("gelu", pass(fused() ? PassKind::fused_gelu : PassKind::gelu, width, compute()));
  backward(
      "gelu",
      pass(fused() ? PassKind::fused_gelu_backward : PassKind::gelu_backward, width, compute()));
  save(real(tokens_ * width) * size_of(compute()));
}

void StageBuilder::swiglu() {
  const std::int64_t f = shape_.ffn;
  const Dtype type = compute();
  piece();
  save(real(tokens_ * f) * size_of(type) * (fused() ? 2.0 : 3.0));  // gate, up, SiLU(gate)
  if (fused()) {
    forward("swiglu", pass(PassKind::fused_swiglu, f, type));
    backward("swiglu", pass(PassKind::fused_swiglu_backward, f, type));
    return;
  }
  // Halves of one tensor are strided, and strided kernels are slower than vectorised ones.
  const bool halves = shape_.fused_gate_up;
  forward("silu", pass(halves ? PassKind::silu_strided : PassKind::silu, f, type));
  forward("gate x up", pass(halves ? PassKind::mul_strided : PassKind::add, f, type));
  backward("gate x up", pass(PassKind::add, f, type));
  backward("gate x up", pass(halves ? PassKind::mul_strided : PassKind::add, f, type));
  backward("silu",
           pass(halves ? PassKind::silu_backward_strided : PassKind::silu_backward, f, type));
  if (halves) backward("gate-up gradient", pass(PassKind::concat, 2 * f, type));
}

void StageBuilder::dropout(std::int64_t width, Dtype type) {
  piece();
  if (fused()) return;  // folded into its neighbours
  forward("dropout", pass(PassKind::dropout, width, type));
  backward("dropout", pass(PassKind::dropout, width, type));
  save(real(tokens_ * width));  // the mask
}

void StageBuilder::residual_add() {
  if (fused()) return;  // part of the next norm's kernel
  const bool mixed = training_.precision.mixed;
  forward("residual add",
          pass(mixed ? PassKind::add_mixed : PassKind::add, shape_.hidden, compute()));
  // The gradient of the sum is both operands' gradient; a 16-bit branch casts it.
  if (mixed) {
    piece();
    backward("residual gradient", pass(PassKind::cast_down, shape_.hidden, compute()));
  }
}

void StageBuilder::embedding() {
  const std::int64_t h = shape_.hidden;
  const Dtype type = parameter_dtype(training_.precision);
  piece();
  forward("embedding", pass(PassKind::embedding, h, type));
  if (shape_.positions > 0) position_embedding();
  if (shape_.token_types > 0) token_type_embedding();
  backward("embedding", Pass{PassKind::fill, shape_.vocab, h, type});
  backward("embedding", pass(PassKind::embedding_backward, h, type));
  const bool shared = shape_.tied_head && (shape_.family != Family::bert || shape_.mlm_head);
  if (shared) backward("tied gradient", Pass{PassKind::add, shape_.vocab, h, type});
  ready("embedding.weight", shape_.vocab * h);
}

void StageBuilder::position_embedding() {
  const std::int64_t h = shape_.hidden;
  const Dtype type = parameter_dtype(training_.precision);
  if (!fused()) forward("positions", pass(PassKind::add_broadcast, h, type));
  // The sum over the batch, then the table's gradient.
  backward("positions", Pass{PassKind::bias_gradient, training_.batch, training_.seq * h, type});
  backward("positions", Pass{PassKind::fill, shape_.positions, h, type});
  ready("positions.weight", shape_.positions * h);
}

void StageBuilder::token_type_embedding() {
  const std::int64_t h = shape_.hidden;
  const Dtype type = parameter_dtype(training_.precision);
  if (!fused()) forward("token types", pass(PassKind::embedding, h, type));
  if (!fused()) forward("token types", pass(PassKind::add, h, type));
  backward("token types", pass(PassKind::embedding_backward, h, type));
  ready("token_types.weight", shape_.token_types * h);
}

// Cross-entropy over all tokens. Eager mode casts the logits to fp32 and keeps log-probabilities;
// backward fills, scatters, multiplies and casts back.
void StageBuilder::loss() {
  const std::int64_t v = shape_.vocab;
  const bool narrow = size_of(compute()) < 4;
  piece();
  const double logits = real(tokens_ * v);
  if (fused()) {
    forward("loss", pass(PassKind::fused_loss, v, compute()));
    backward("loss", pass(PassKind::fused_loss_backward, v, compute()));
    stage_.peak_bytes += logits * 2 * size_of(compute());
    return;
  }
  if (narrow) forward("logits to fp32", pass(PassKind::cast_up, v, compute()));
  forward("log-softmax", pass(PassKind::log_softmax, v, Dtype::fp32));
  forward("nll", pass(PassKind::nll_loss, v, Dtype::fp32));
  backward("nll", pass(PassKind::fill, v, Dtype::fp32));
  backward("nll", pass(PassKind::nll_loss, v, Dtype::fp32));
  backward("log-softmax", pass(PassKind::log_softmax_backward, v, Dtype::fp32));
  if (narrow) backward("logits to 16 bit", pass(PassKind::cast_down, v, compute()));
  stage_.peak_bytes += logits * 12;  // log-probabilities, their gradient, the logits' gradient
}

void StageBuilder::pooler() {
  const std::int64_t h = shape_.hidden;
  const std::int64_t sequences = training_.batch;
  piece();
  forward("first token", Pass{PassKind::copy, sequences, h, stream()});
  backward("first token", Pass{PassKind::fill, tokens_, h, stream()});
  linear({.label = "pooler",
          .in = h,
          .out = h,
          .bias = shape_.bias,
          .input = stream(),
          .rows = sequences});
  piece();
  forward("pooler tanh", Pass{PassKind::copy, sequences, h, compute()});
  backward("pooler tanh", Pass{PassKind::add, sequences, h, compute()});
}

void StageBuilder::gather(double share) {
  const std::int64_t h = shape_.hidden;
  const auto kept = static_cast<std::int64_t>(std::ceil(share * real(tokens_)));
  piece();
  forward("gather", Pass{PassKind::embedding, kept, h, stream()});
  backward("gather", Pass{PassKind::fill, tokens_, h, stream()});
  backward("gather", Pass{PassKind::embedding_backward, kept, h, stream()});
  tokens_ = kept;
}

void StageBuilder::sequence_loss() {
  const Pass pass{PassKind::nll_loss, training_.batch, 2, Dtype::fp32};
  piece();
  forward("loss", pass);
  backward("loss", pass);
}

StageWork StageBuilder::finish() {
  for (Piece& p : pieces_ | std::views::reverse) {
    const auto base = static_cast<std::uint32_t>(stage_.backward.size());
    stage_.backward.insert(stage_.backward.end(), p.backward.begin(), p.backward.end());
    for (GradientReady& r : p.ready) stage_.ready.push_back({base + r.after, r.elements, r.role});
  }
  std::ranges::stable_sort(stage_.ready, {}, &GradientReady::after);
  return std::move(stage_);
}

}  // namespace stepsight
