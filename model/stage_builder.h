// Writes the operators of a stretch of a model down piece by piece (a norm, a linear layer, an
// attention): each piece appends what it launches in forward and keeps what it launches in backward,
// which runs in the reverse order of the pieces.
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
  StageBuilder(const ModelShape& shape, const Training& training);

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] bool fused() const { return training_.compile; }
  [[nodiscard]] Dtype compute() const { return training_.precision.compute; }
  // Type of the residual stream: autocast keeps it, like the norms, in fp32.
  [[nodiscard]] Dtype stream() const;

  // `residual`: a branch leaves here, so backward adds its gradient to the residual's.
  void norm(std::string_view label, bool residual);
  // A linear layer. `input` is the type in which its input arrives: autocast casts an fp32 one.
  // `extra_gradients`: gradients of the same input that backward adds to this layer's.
  struct Linear {
    std::string_view label;
    std::int64_t in = 0;
    std::int64_t out = 0;
    bool bias = false;
    Dtype input = Dtype::bf16;
    int extra_gradients = 0;
    bool weight_gradient_pending = false;  // a tied weight: complete only in another stage
    std::int64_t rows = 0;                 // 0: one a token
  };
  void linear(const Linear& layer);
  void attention();
  void rotary();
  void gelu(std::int64_t width);
  void swiglu();
  void dropout(std::int64_t width, Dtype type);
  void residual_add();
  void embedding();
  void loss();
  // BERT's dense layer on the first token of each sequence, with its tanh.
  void pooler();
  // Goes on with a share of the tokens: their rows gathered, and scattered into zeros in backward.
  void gather(double share);
  // Cross-entropy of a classifier on the pooled token: next to nothing beside the encoder.
  void sequence_loss();

  // Bytes kept for backward beyond what the pieces count themselves.
  void save(double bytes) { stage_.saved_bytes += bytes; }
  StageWork finish();

 private:
  struct Piece {
    std::vector<Operator> backward;
    std::vector<GradientReady> ready;  // `after` counts within the piece
  };

  void forward(std::string_view label, const Work& work) { stage_.forward.push_back({work, label}); }
  void backward(std::string_view label, const Work& work) {
    pieces_.back().backward.push_back({work, label});
  }
  void ready(std::string_view role, std::int64_t elements);
  Piece& piece() { return pieces_.emplace_back(); }
  [[nodiscard]] Pass pass(PassKind kind, std::int64_t cols, Dtype type) const {
    return {kind, tokens_, cols, type};
  }
  [[nodiscard]] std::int64_t rows_of(const Linear& layer) const {
    return layer.rows > 0 ? layer.rows : tokens_;
  }
  void linear_backward(const Linear& layer, bool cast_input);
  void fused_attention();
  void unfused_attention();
  void position_embedding();
  void token_type_embedding();

  const ModelShape& shape_;
  const Training& training_;
  std::int64_t tokens_;
  StageWork stage_;
  std::vector<Piece> pieces_;
};

}  // namespace stepsight
