#include "model/stage_builder.h"

#include <algorithm>
#include <cmath>

namespace stepsight {

namespace {

double size_of(Dtype type) {
  return info(type).bytes;
}
double real(std::int64_t value) {
  return static_cast<double>(value);
}

}  // namespace

ModelShape rank_shape(const ModelShape& shape, const Parallel& parallel) {
  ModelShape share = shape;
  share.heads /= parallel.tensor;
  share.kv_heads = std::max<std::int64_t>(1, shape.kv_heads / parallel.tensor);
  share.ffn /= parallel.tensor;
  share.expert_ffn /= parallel.tensor;
  share.vocab /= parallel.tensor;
  return share;
}

StageBuilder::StageBuilder(const ModelShape& shape,
                           const Training& training,
                           const Parallel& parallel)
    : shape_(shape),
      training_(training),
      parallel_(parallel),
      tokens_(training.batch * training.seq / parallel.context),
      stream_tokens_(sequence() ? tokens_ / parallel.tensor : tokens_) {}

Dtype StageBuilder::stream() const {
  return training_.precision.mixed ? Dtype::fp32 : training_.precision.compute;
}

void StageBuilder::ready(std::string_view role, std::int64_t elements, bool partial) {
  Piece& p = pieces_.back();
  p.ready.push_back(
      {static_cast<std::uint32_t>(p.backward.size() - 1), elements, role, partial && sequence()});
}

void StageBuilder::expert_ready(std::string_view role, std::int64_t elements) {
  ready(role, elements);
  pieces_.back().ready.back().experts = parallel_.expert > 1;
}

void StageBuilder::forward_exchange(
    std::string_view label, Axis axis, CollectiveKind kind, double bytes, std::uint32_t beside) {
  const auto before = static_cast<std::uint32_t>(stage_.forward.size());
  stage_.forward_exchanges.push_back({before, axis, kind, bytes, label, beside});
}

void StageBuilder::backward_exchange(
    std::string_view label, Axis axis, CollectiveKind kind, double bytes, std::uint32_t beside) {
  Piece& p = pieces_.back();
  const auto before = static_cast<std::uint32_t>(p.backward.size());
  p.exchanges.push_back({before, axis, kind, bytes, label, beside});
}

void StageBuilder::norm(std::string_view label, bool residual) {
  const std::int64_t h = shape_.hidden;
  const bool rms = shape_.rms_norm;
  piece();
  if (fused()) {
    forward(label, stream_pass(PassKind::fused_norm, h, stream()));
    backward(label, stream_pass(PassKind::fused_norm_backward, h, stream()));
  } else {
    forward(label, stream_pass(rms ? PassKind::rms_norm : PassKind::layer_norm, h, stream()));
    backward(label,
             stream_pass(
                 rms ? PassKind::rms_norm_backward : PassKind::layer_norm_backward, h, stream()));
  }
  ready("norm.weight", h, true);
  if (!rms && shape_.bias) ready("norm.bias", h, true);
  if (residual && !fused()) backward("residual gradient", stream_pass(PassKind::add, h, stream()));
  save(real(stream_tokens_ * h) * size_of(stream()));  // its input
}

std::int64_t StageBuilder::rows_of(const Linear& layer) const {
  if (layer.rows > 0) return layer.rows;
  return layer.cut == Cut::none ? stream_tokens_ : tokens_;
}

// Column-parallel: every rank needs all tokens of the input.
void StageBuilder::gather_columns_input(const Linear& layer) {
  if (!sequence() || layer.cut != Cut::columns || !layer.first) return;
  forward_exchange(layer.label,
                   Axis::tensor,
                   CollectiveKind::all_gather,
                   real(tokens_ * layer.in) * size_of(compute()));
}

// Row-parallel: the ranks' results are partial sums.
void StageBuilder::sum_rows_output(const Linear& layer) {
  if (!split() || layer.cut != Cut::rows) return;
  forward_exchange(layer.label,
                   Axis::tensor,
                   sequence() ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
                   real(tokens_ * layer.out) * size_of(compute()));
}

void StageBuilder::linear(const Linear& layer) {
  const std::int64_t weights = layer.in * layer.out;
  const std::int64_t rows = rows_of(layer);
  const bool mixed = training_.precision.mixed;
  const bool cast_input = mixed && layer.input == Dtype::fp32;
  // A rank keeps its share of the tokens and gathers the others' again in backward.
  const std::int64_t kept_rows =
      layer.cut == Cut::columns && rows == tokens_ ? stream_tokens_ : rows;
  piece();
  if (mixed) {
    if (layer.bias && !fused()) {
      forward(layer.label, Pass{PassKind::cast_down, 1, layer.out, compute()});
    }
    forward(layer.label, Pass{PassKind::cast_down, layer.out, layer.in, compute()});
    if (cast_input && !fused()) {
      forward(layer.label, Pass{PassKind::cast_down, kept_rows, layer.in, compute()});
    }
    save(real(weights) * size_of(compute()));  // autocast keeps the cast weight until backward
  }
  gather_columns_input(layer);
  // Layers that share an input cast it once.
  if (narrow(layer) && layer.first) forward(fp8_cast, to_fp8(rows, layer.in));
  if (narrow(layer)) forward(fp8_cast, to_fp8(layer.out, layer.in));
  forward(layer.label, Gemm{rows, layer.out, layer.in, 1, product_type(layer), Layout::TN});
  sum_rows_output(layer);
  save(real(kept_rows * layer.in) * size_of(product_type(layer)));
  linear_backward(layer, cast_input);
}

// Megatron-LM's order where the matrix is split by columns: the input's gradient, its sum over the
// ranks, and beside that the weight's gradient (core/tensor_parallel/layers.py,
// LinearWithGradAccumulationAndAsyncCommunication).
void StageBuilder::linear_backward(const Linear& layer, bool cast_input) {
  const std::int64_t rows = rows_of(layer);
  const std::string_view label = layer.label;
  const bool columns = split() && layer.cut == Cut::columns;
  const double input_bytes = real(rows * layer.in) * size_of(compute());
  const bool overlap = parallel_.overlap_tensor;
  if (sequence() && layer.cut == Cut::rows) {
    backward_exchange(label,
                      Axis::tensor,
                      CollectiveKind::all_gather,
                      real(rows * layer.out) * size_of(compute()));
  }
  if (columns && sequence() && layer.last) {
    backward_exchange(
        label, Axis::tensor, CollectiveKind::all_gather, input_bytes, overlap ? 1 : 0);
  }
  const auto add_siblings = [&] {
    for (int i = 0; i < layer.siblings; ++i) {
      backward("input gradient", Pass{PassKind::add, rows, layer.in, layer.input});
    }
  };
  if (narrow(layer)) backward(label, to_fp8(rows, layer.out));
  backward(label, Gemm{rows, layer.in, layer.out, 1, product_type(layer), Layout::NN});
  if (columns) add_siblings();
  if (columns && layer.first) {
    backward_exchange(label,
                      Axis::tensor,
                      sequence() ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
                      input_bytes);
  }
  const std::size_t sum_at = pieces_.back().backward.size();
  weight_gradient(layer);
  if (columns && layer.first && overlap) {
    pieces_.back().exchanges.back().beside =
        static_cast<std::uint32_t>(pieces_.back().backward.size() - sum_at);
  }
  const std::int64_t input_rows = columns ? stream_tokens_ : rows;
  if (cast_input && !fused()) {
    backward(label, Pass{PassKind::cast_up, input_rows, layer.in, compute()});
  }
  if (!columns) add_siblings();
  if (layer.residual) {
    backward("input gradient", Pass{PassKind::add, input_rows, layer.in, layer.input});
  }
}

void StageBuilder::weight_gradient(const Linear& layer) {
  const std::int64_t rows = rows_of(layer);
  const std::string_view label = layer.label;
  const bool mixed = training_.precision.mixed;
  backward(label, Gemm{layer.out, layer.in, rows, 1, product_type(layer), Layout::NT});
  if (mixed) backward(label, Pass{PassKind::cast_up, layer.out, layer.in, compute()});
  if (!layer.weight_gradient_pending) {
    ready("weight", layer.in * layer.out, layer.cut == Cut::none);
  }
  if (layer.bias) {
    // The bias is added after the sum, to the rank's tokens.
    const std::int64_t bias_rows = layer.cut == Cut::rows ? stream_tokens_ : rows;
    backward(label, Pass{PassKind::bias_gradient, bias_rows, layer.out, compute()});
    if (mixed && !fused()) backward(label, Pass{PassKind::cast_up, 1, layer.out, compute()});
    ready("bias", layer.out, layer.cut != Cut::columns);
  }
}

void StageBuilder::gelu(std::int64_t width, std::int64_t rows) {
  if (rows == 0) rows = tokens_;
  const PassKind there = fused_kernels() ? PassKind::fused_gelu : PassKind::gelu;
  const PassKind back = fused_kernels() ? PassKind::fused_gelu_backward : PassKind::gelu_backward;
  piece();
  forward("gelu", Pass{there, rows, width, compute()});
  backward("gelu", Pass{back, rows, width, compute()});
  save(real(rows * width) * size_of(compute()));
}

void StageBuilder::swiglu(std::int64_t width, std::int64_t rows) {
  const std::int64_t f = width > 0 ? width : shape_.ffn;
  if (rows == 0) rows = tokens_;
  const Dtype type = compute();
  const auto pass = [rows](PassKind kind, std::int64_t cols, Dtype of) {
    return Pass{kind, rows, cols, of};
  };
  piece();
  save(real(rows * f) * size_of(type) * (fused_kernels() ? 2.0 : 3.0));  // gate, up, SiLU(gate)
  if (fused_kernels()) {
    forward("swiglu", pass(PassKind::fused_swiglu, f, type));
    backward("swiglu", pass(PassKind::fused_swiglu_backward, f, type));
    return;
  }
  // Halves of one tensor are strided, and strided kernels are slower than vectorised ones.
  const bool halves = width == 0 && shape_.fused_gate_up;
  forward("silu", pass(halves ? PassKind::silu_strided : PassKind::silu, f, type));
  forward("gate x up", pass(halves ? PassKind::mul_strided : PassKind::add, f, type));
  backward("gate x up", pass(PassKind::add, f, type));
  backward("gate x up", pass(halves ? PassKind::mul_strided : PassKind::add, f, type));
  backward("silu",
           pass(halves ? PassKind::silu_backward_strided : PassKind::silu_backward, f, type));
  if (halves) backward("gate-up gradient", pass(PassKind::concat, 2 * f, type));
}

void StageBuilder::dropout(std::int64_t width, Dtype type, bool added) {
  piece();
  if (fused()) return;  // folded into its neighbours
  // The stacks' kernel adds the residual in the same pass, and its backward applies the mask.
  if (!added || !training_.fused_kernels) {
    forward("dropout", stream_pass(PassKind::dropout, width, type));
  }
  backward("dropout", stream_pass(PassKind::dropout, width, type));
  save(real(stream_tokens_ * width));  // the mask
}

void StageBuilder::residual_add() {
  if (fused()) return;  // part of the next norm's kernel
  const bool mixed = training_.precision.mixed;
  forward("residual add",
          stream_pass(mixed ? PassKind::add_mixed : PassKind::add, shape_.hidden, compute()));
  // The gradient of the sum is both operands' gradient; a 16-bit branch casts it.
  if (mixed) {
    piece();
    backward("residual gradient", stream_pass(PassKind::cast_down, shape_.hidden, compute()));
  }
}

// Split by vocabulary: a rank looks up the rows that it holds, and the sum over the ranks is the
// embedding. With sequence parallelism that sum is scattered, but for models that add positions to
// all tokens first (Megatron-LM, LanguageModelEmbedding).
void StageBuilder::embedding() {
  const std::int64_t h = shape_.hidden;
  const Dtype type = parameter_dtype(training_.precision);
  const double bytes = real(tokens_ * h) * size_of(type);
  const bool scatter = sequence() && shape_.positions == 0 && shape_.token_types == 0;
  piece();
  forward("embedding", pass(PassKind::embedding, h, type));
  if (split()) {
    forward_exchange("embedding",
                     Axis::tensor,
                     scatter ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
                     bytes);
  }
  if (sequence()) backward_exchange("embedding", Axis::tensor, CollectiveKind::all_gather, bytes);
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
  backward("positions", Pass{PassKind::bias_gradient, training_.batch, seq() * h, type});
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

// An fp32 number a token, summed or maximised over the ranks that share out the vocabulary.
void StageBuilder::vocabulary_sum(std::string_view label) {
  if (!split()) return;
  forward_exchange(label, Axis::tensor, CollectiveKind::all_reduce, 4 * real(tokens_));
}

// Cross-entropy over all tokens. Eager mode casts the logits to fp32 and keeps log-probabilities;
// backward fills, scatters, multiplies and casts back. Ranks that share out the vocabulary agree on
// the largest logit, the sum of the exponentials and the target's logit (Shoeybi et al. 2019).
void StageBuilder::loss() {
  const std::int64_t v = shape_.vocab;
  const bool narrow = size_of(compute()) < 4;
  piece();
  const double logits = real(tokens_ * v);
  if (fused()) {
    vocabulary_sum("largest logit");
    forward("loss", pass(PassKind::fused_loss, v, compute()));
    vocabulary_sum("sum of exponentials");
    vocabulary_sum("target logit");
    backward("loss", pass(PassKind::fused_loss_backward, v, compute()));
    stage_.peak_bytes += logits * 2 * size_of(compute());
    return;
  }
  if (narrow) forward("logits to fp32", pass(PassKind::cast_up, v, compute()));
  vocabulary_sum("largest logit");
  forward("log-softmax", pass(PassKind::log_softmax, v, Dtype::fp32));
  vocabulary_sum("sum of exponentials");
  forward("nll", pass(PassKind::nll_loss, v, Dtype::fp32));
  vocabulary_sum("target logit");
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
  backward("first token", stream_pass(PassKind::fill, h, stream()));
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
  const auto share_of = [share](std::int64_t tokens) {
    return static_cast<std::int64_t>(std::ceil(share * real(tokens)));
  };
  const std::int64_t kept = share_of(stream_tokens_);
  piece();
  forward("gather", Pass{PassKind::embedding, kept, h, stream()});
  backward("gather", stream_pass(PassKind::fill, h, stream()));
  backward("gather", Pass{PassKind::embedding_backward, kept, h, stream()});
  stream_tokens_ = kept;
  tokens_ = sequence() ? kept * parallel_.tensor : kept;
}

void StageBuilder::classifier_loss(std::int64_t samples, std::int64_t classes) {
  const bool narrow = size_of(compute()) < 4;
  const auto pass = [&](PassKind kind, Dtype type) { return Pass{kind, samples, classes, type}; };
  piece();
  if (narrow) forward("logits to fp32", pass(PassKind::cast_up, compute()));
  forward("log-softmax", pass(PassKind::log_softmax, Dtype::fp32));
  forward("nll", pass(PassKind::nll_loss, Dtype::fp32));
  backward("nll", pass(PassKind::fill, Dtype::fp32));
  backward("nll", pass(PassKind::nll_loss, Dtype::fp32));
  backward("log-softmax", pass(PassKind::log_softmax_backward, Dtype::fp32));
  if (narrow) backward("logits to 16 bit", pass(PassKind::cast_down, compute()));
}

void StageBuilder::sequence_loss() {
  const Pass pass{PassKind::nll_loss, training_.batch, 2, Dtype::fp32};
  piece();
  forward("loss", pass);
  backward("loss", pass);
}

StageWork StageBuilder::finish() {
  // (std::views::reverse would keep clang 14, whose libFuzzer the readers are tested with, out.)
  for (auto at = pieces_.rbegin(); at != pieces_.rend(); ++at) {
    Piece& p = *at;
    const auto base = static_cast<std::uint32_t>(stage_.backward.size());
    stage_.backward.insert(stage_.backward.end(), p.backward.begin(), p.backward.end());
    for (GradientReady& r : p.ready) {
      r.after += base;
      stage_.ready.push_back(r);
    }
    for (Exchange& e : p.exchanges) {
      e.before += base;
      stage_.backward_exchanges.push_back(e);
    }
  }
  std::ranges::stable_sort(stage_.ready, {}, &GradientReady::after);
  return std::move(stage_);
}

}  // namespace stepsight
