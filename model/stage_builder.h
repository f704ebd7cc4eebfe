// Writes the operators of a stretch of a model down piece by piece (a norm, a linear layer, an
// attention): each piece appends what it launches in forward and keeps what it launches in
// backward, which runs in the reverse order of the pieces.
//
// Where several ranks share the model, the pieces are one rank's part, with the messages between.
// Tensor parallelism (Shoeybi et al. 2019, Megatron-LM): a matrix is split by columns, so that what
// follows works on a part of the heads or of the feed-forward's width, and the next one by rows,
// whose partial results are summed: an all-reduce in forward after the rows, one in backward before
// the columns. With sequence parallelism (Korthikanti et al. 2022, arXiv 2205.05198) everything
// outside the pair sees a share of the tokens; the sums are reduce-scattered, and gathered before
// the next pair. Embedding, head and loss are split by vocabulary. Context parallelism: every rank
// sees a share of each sequence, and only attention needs the others' keys and values.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/model_shape.h"
#include "model/scenario.h"
#include "model/transformer.h"

namespace stepsight {

class StageBuilder {
 public:
  // `shape` is what one rank holds of the model: rank_shape(). All three must outlive the builder.
  StageBuilder(const ModelShape& shape, const Training& training, const Parallel& parallel);

  // Tokens outside the split matrices: norms, residuals, dropout.
  [[nodiscard]] std::int64_t stream_tokens() const { return stream_tokens_; }
  // Those that the split matrices see.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] const Training& training() const { return training_; }
  [[nodiscard]] const Parallel& parallel() const { return parallel_; }
  [[nodiscard]] bool fused() const { return training_.compile; }
  // Passes that both a compiler and the stacks' own kernels fuse.
  [[nodiscard]] bool fused_kernels() const { return training_.compile || training_.fused_kernels; }
  [[nodiscard]] Dtype compute() const { return training_.precision.compute; }
  // Type of the residual stream: autocast keeps it, like the norms, in fp32.
  [[nodiscard]] Dtype stream() const;

  // `residual`: a branch leaves here, so backward adds its gradient to the residual's.
  void norm(std::string_view label, bool residual);
  // How tensor parallelism splits a matrix: `in` or `out` is then the rank's part.
  enum class Cut : std::uint8_t { none, columns, rows };
  // A linear layer. `input` is the type in which its input arrives: autocast casts an fp32 one.
  struct Linear {
    std::string_view label;
    std::int64_t in = 0;
    std::int64_t out = 0;
    bool bias = false;
    Dtype input = Dtype::bf16;
    int siblings = 0;  // gradients of the same input, from layers after it, that it adds to its own
    bool residual = false;  // the input is the residual, too: its gradient is added
    Cut cut = Cut::none;
    // Of layers that share an input, split by columns: the first has the input gathered and its
    // gradient summed, the last is where backward needs the input first.
    bool first = true, last = true;
    bool weight_gradient_pending = false;  // a tied weight: complete only in another stage
    std::int64_t rows = 0;                 // 0: one a token
    bool fp8 = true;                       // its products are narrow where Training::fp8 says so
  };
  void linear(const Linear& layer);
  // Which tokens a query sees.
  struct Attending {
    bool causal = false;
    std::int64_t keys = 0;  // of another sequence; 0: of its own
  };
  void attention() { attention({is_causal(shape_.family), 0}); }
  void attention(const Attending& seen);
  void rotary();
  // `rows`: 0 for one a token.
  void gelu(std::int64_t width, std::int64_t rows = 0);
  // `width` 0: of the shape, one row a token.
  void swiglu(std::int64_t width = 0, std::int64_t rows = 0);
  // `added`: a residual is added to the result next.
  void dropout(std::int64_t width, Dtype type, bool added = false);
  void residual_add();
  void embedding();
  void loss();
  // BERT's dense layer on the first token of each sequence, with its tanh.
  void pooler();
  // Goes on with a share of the tokens: their rows gathered, and scattered into zeros in backward.
  void gather(double share);
  // Cross-entropy of a classifier on the pooled token: next to nothing beside the encoder.
  void sequence_loss();

  // Cross-entropy over `classes`, one row a sample.
  void classifier_loss(std::int64_t samples, std::int64_t classes);

  // For layers that are written down elsewhere: begin a piece, then add what it launches forward
  // and backward; a gradient is complete after the last backward operator so far, of which the
  // piece has one at least. `partial`: each tensor-parallel rank has summed over its own tokens
  // only.
  void begin() { piece(); }
  void forward(std::string_view label, const Work& work) {
    stage_.forward.push_back({work, label});
  }
  void backward(std::string_view label, const Work& work) {
    pieces_.back().backward.push_back({work, label});
  }
  void ready(std::string_view role, std::int64_t elements, bool partial = false);
  // A gradient of the experts that this rank holds.
  void expert_ready(std::string_view role, std::int64_t elements);
  // A message before what is launched next, forward or in the piece's backward. The next `beside`
  // operators do not wait for it.
  void forward_exchange(std::string_view label,
                        Axis axis,
                        CollectiveKind kind,
                        double bytes,
                        std::uint32_t beside = 0);
  void backward_exchange(std::string_view label,
                         Axis axis,
                         CollectiveKind kind,
                         double bytes,
                         std::uint32_t beside = 0);
  // Of the last message of forward: the host waits for the card before it.
  void stop_host() { stage_.forward_exchanges.back().stops_host = true; }

  // Bytes kept for backward beyond what the pieces count themselves.
  void save(double bytes) { stage_.saved_bytes += bytes; }
  StageWork finish();

 private:
  struct Piece {
    std::vector<Operator> backward;
    std::vector<GradientReady> ready;  // `after` counts within the piece
    std::vector<Exchange> exchanges;   // `before`, too
  };

  Piece& piece() { return pieces_.emplace_back(); }
  [[nodiscard]] Pass pass(PassKind kind, std::int64_t cols, Dtype type) const {
    return {kind, tokens_, cols, type};
  }
  [[nodiscard]] Pass stream_pass(PassKind kind, std::int64_t cols, Dtype type) const {
    return {kind, stream_tokens_, cols, type};
  }
  [[nodiscard]] bool split() const { return parallel_.tensor > 1; }
  [[nodiscard]] bool sequence() const { return split() && parallel_.sequence; }
  // Tokens of a sequence that the rank sees.
  [[nodiscard]] std::int64_t seq() const { return training_.seq / parallel_.context; }
  [[nodiscard]] std::int64_t rows_of(const Linear& layer) const;
  [[nodiscard]] bool narrow(const Linear& layer) const { return training_.fp8 && layer.fp8; }
  [[nodiscard]] Dtype product_type(const Linear& layer) const {
    return narrow(layer) ? Dtype::fp8 : compute();
  }
  // Cast and transposed in one pass: backward's products read the other way round.
  [[nodiscard]] Pass to_fp8(std::int64_t rows, std::int64_t cols) const {
    return {PassKind::copy, rows, cols, compute()};
  }
  void gather_columns_input(const Linear& layer);
  void sum_rows_output(const Linear& layer);
  void linear_backward(const Linear& layer, bool cast_input);
  void weight_gradient(const Linear& layer);
  void vocabulary_sum(std::string_view label);
  void fused_attention(const Attending& seen);
  [[nodiscard]] Attention whole_attention(const Attending& seen) const;
  void ring_attention(const Attending& seen);
  void gathered_attention(const Attending& seen);
  void exchanged_attention(const Attending& seen);
  void attention_core(const Attending& seen, bool again);
  void unfused_attention(const Attending& seen);
  void position_embedding();
  void token_type_embedding();

  const ModelShape& shape_;
  const Training& training_;
  const Parallel& parallel_;
  std::int64_t tokens_;
  std::int64_t stream_tokens_;
  StageWork stage_;
  std::vector<Piece> pieces_;
};

// What one of the tensor-parallel ranks holds: its heads, its share of the feed-forward's width and
// of the vocabulary. Fewer key-value heads than ranks are held by several ranks each (as
// Megatron-LM does).
ModelShape rank_shape(const ModelShape& shape, const Parallel& parallel);

}  // namespace stepsight
