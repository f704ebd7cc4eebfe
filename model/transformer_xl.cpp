#include "model/transformer_xl.h"

#include <algorithm>
#include <cmath>

namespace stepsight {

namespace {

constexpr std::int64_t clusters = 3;

double real(std::int64_t value) {
  return static_cast<double>(value);
}

// Attention with relative positions: scores of a query against a key by content and by distance.
class RelativeAttention {
 public:
  RelativeAttention(StageBuilder& b, const ModelShape& shape)
      : b_(b),
        s_(shape),
        batch_(b.training().batch),
        segment_(b.training().seq),
        keys_(segment_ + shape.memory),
        width_(shape.heads * shape.head_dim),
        type_(b.compute()) {}

  void write() {
    project();
    score();
    weigh();
    b_.linear({.label = "attention output", .in = width_, .out = s_.hidden, .input = type_});
  }

 private:
  [[nodiscard]] Pass over_queries(PassKind kind) const {
    return {kind, batch_ * segment_, width_, type_};
  }
  [[nodiscard]] Pass over_keys(PassKind kind, std::int64_t width) const {
    return {kind, batch_ * keys_, width, type_};
  }
  [[nodiscard]] Pass scores(PassKind kind) const {
    return {kind, batch_ * s_.heads * segment_, keys_, type_};
  }
  void both(std::string_view label, const Work& work) {
    b_.forward(label, work);
    b_.backward(label, work);
  }

  // Queries are projected for the memory, too, and dropped.
  void project() {
    b_.begin();
    both("memory and segment", Pass{PassKind::concat, batch_ * keys_, s_.hidden, b_.stream()});
    b_.linear({.label = "qkv",
               .in = s_.hidden,
               .out = 3 * width_,
               .input = b_.stream(),
               .residual = true,
               .rows = batch_ * keys_});
    b_.linear({.label = "positions",
               .in = s_.hidden,
               .out = width_,
               .input = b_.stream(),
               .rows = keys_});
    b_.begin();
    for (int bias = 0; bias < 2; ++bias) {
      b_.forward("query bias", over_queries(PassKind::add_broadcast));
      b_.backward("query bias", over_queries(PassKind::bias_gradient));
    }
    b_.backward("queries' gradient", over_queries(PassKind::add));
    b_.backward("qkv gradient", over_keys(PassKind::concat, 3 * width_));
    b_.save(real(batch_ * (2 * segment_ + 2 * keys_) * width_) * info(type_).bytes);
  }

  // Products want each head's rows together; the distances' scores of all sequences are one product
  // a head. Their rows are then shifted by a column each: padded, and read at another stride.
  void score() {
    const std::int64_t n = batch_ * s_.heads;
    const std::int64_t d = s_.head_dim;
    b_.begin();
    both("attention split", over_queries(PassKind::transpose));
    both("attention split", over_queries(PassKind::transpose));
    both("attention split", over_keys(PassKind::transpose, 2 * width_));
    b_.begin();
    b_.forward("scores by content", Gemm{segment_, keys_, d, n, type_, Layout::TN});
    b_.backward("scores by content", Gemm{segment_, d, keys_, n, type_, Layout::NN});
    b_.backward("scores by content", Gemm{keys_, d, segment_, n, type_, Layout::NT});
    b_.begin();
    const std::int64_t rows = batch_ * segment_;
    b_.forward("scores by distance", Gemm{rows, keys_, d, s_.heads, type_, Layout::TN});
    b_.backward("scores by distance", Gemm{rows, d, keys_, s_.heads, type_, Layout::NN});
    b_.backward("scores by distance", Gemm{keys_, d, rows, s_.heads, type_, Layout::NT});
    b_.begin();
    b_.forward("relative shift", scores(PassKind::concat));
    b_.backward("relative shift", scores(PassKind::fill));
    b_.backward("relative shift", scores(PassKind::copy));
    b_.begin();
    // Sum and scale in one compiled kernel, the mask in place.
    b_.forward("scores", scores(PassKind::add));
    b_.backward("attention scale", scores(PassKind::copy));
    both("attention mask", scores(PassKind::copy));
    b_.begin();
    b_.forward("attention softmax", scores(PassKind::softmax));
    b_.backward("attention softmax", scores(PassKind::softmax_backward));
    b_.save(real(n * segment_) * real(keys_) * 2 * info(type_).bytes);
  }

  void weigh() {
    const std::int64_t n = batch_ * s_.heads;
    const std::int64_t d = s_.head_dim;
    b_.begin();
    b_.forward("attention values", Gemm{segment_, d, keys_, n, type_, Layout::NN});
    b_.backward("attention values", Gemm{segment_, keys_, d, n, type_, Layout::TN});
    b_.backward("attention values", Gemm{keys_, d, segment_, n, type_, Layout::NT});
    b_.begin();
    both("attention merge", over_queries(PassKind::transpose));
  }

  StageBuilder& b_;
  const ModelShape& s_;
  std::int64_t batch_, segment_, keys_, width_;
  Dtype type_;
};

// Logits of some rows over some words, and their cross-entropy.
struct WordGroup {
  std::string_view label;
  std::int64_t rows = 0;
  std::int64_t words = 0;
};

// The group's word vectors are a slice of the embedding: backward fills a table of its size with
// zeros, copies the slice's gradient there and adds the tables up.
void word_group(StageBuilder& b, const ModelShape& s, const WordGroup& group, bool gathered) {
  const auto logits = [&](PassKind kind) {
    return Pass{kind, group.rows, group.words, b.compute()};
  };
  if (gathered) {
    const auto rows = [&](PassKind kind) { return Pass{kind, group.rows, s.hidden, b.stream()}; };
    b.begin();
    b.forward("cluster's tokens", rows(PassKind::embedding));
    b.backward("cluster's tokens", rows(PassKind::embedding_backward));
  }
  const Dtype type = parameter_dtype(b.training().precision);
  b.begin();
  b.backward("word vectors' gradient", Pass{PassKind::fill, s.vocab, s.hidden, type});
  b.backward("word vectors' gradient", Pass{PassKind::add, s.vocab, s.hidden, type});
  b.linear({.label = group.label,
            .in = s.hidden,
            .out = group.words,
            .input = b.stream(),
            .weight_gradient_pending = true,
            .rows = group.rows});
  b.begin();
  b.forward("word bias", logits(PassKind::add_broadcast));
  b.backward("word bias", logits(PassKind::bias_gradient));
  b.begin();
  b.forward("log-softmax", logits(PassKind::log_softmax));
  b.forward("nll", Pass{PassKind::nll_loss, group.rows, group.words, b.compute()});
  if (gathered) b.backward("nll", logits(PassKind::fill));
  b.backward("log-softmax", logits(PassKind::log_softmax_backward));
  b.save(real(group.rows * group.words) * 2 * info(b.compute()).bytes);
}

// Head and clusters each copy the head's log-probabilities of their tokens. Backward scatters each
// copy's gradient into zeros for all tokens, and sums the four.
void head_rows(StageBuilder& b, const ModelShape& s, std::int64_t rows, bool further) {
  const std::int64_t words = s.cutoff_1 + clusters;
  const auto over = [&](PassKind kind, std::int64_t count) {
    return Pass{kind, count, words, b.compute()};
  };
  b.begin();
  b.forward("head's rows", over(PassKind::embedding, rows));
  b.backward("head's rows", over(PassKind::fill, rows));
  b.backward("head's rows", over(PassKind::fill, b.stream_tokens()));
  b.backward("head's rows", over(PassKind::add, rows));
  if (further) b.backward("head's rows", over(PassKind::add, b.stream_tokens()));
}

}  // namespace

void memory_block(StageBuilder& b, const ModelShape& s) {
  const std::int64_t tokens = b.stream_tokens();
  const bool drops = s.dropout > 0;
  RelativeAttention(b, s).write();
  if (drops) b.dropout(s.hidden, b.compute());
  b.residual_add();
  b.norm("norm", false);
  b.linear({.label = "mlp up",
            .in = s.hidden,
            .out = s.ffn,
            .bias = true,
            .input = b.stream(),
            .residual = true});
  b.begin();
  b.forward("relu", Pass{PassKind::copy, tokens, s.ffn, b.compute()});
  b.backward("relu", Pass{PassKind::add, tokens, s.ffn, b.compute()});
  if (drops) b.dropout(s.ffn, b.compute());
  b.linear({.label = "mlp down", .in = s.ffn, .out = s.hidden, .bias = true, .input = b.compute()});
  if (drops) b.dropout(s.hidden, b.compute());
  b.residual_add();
  b.norm("norm", false);
  // What the next segment will remember.
  const std::int64_t kept = b.training().batch * (b.training().seq + s.memory);
  b.forward("memory", Pass{PassKind::concat, kept, s.hidden, b.stream()});
}

void shared_position_biases(StageBuilder& b, const ModelShape& s) {
  const std::int64_t width = s.heads * s.head_dim;
  const Dtype type = parameter_dtype(b.training().precision);
  b.begin();
  for (const std::string_view role : {"content_bias", "position_bias"}) {
    b.backward("query bias", Pass{PassKind::add, s.layers, width, type});
    b.ready(role, width);
  }
}

std::array<double, 4> word_shares(const ModelShape& s) {
  // The harmonic numbers that Zipf's law sums to, as ln n + Euler's constant.
  const auto met = [](std::int64_t words) { return std::log(real(words)) + 0.5772156649; };
  const double all = met(s.vocab);
  const double first = met(s.cutoff_1) / all;
  const double second = met(s.cutoff_2) / all;
  const double third = met(s.cutoff_3) / all;
  return {first, second - first, third - second, 1 - third};
}

void adaptive_softmax(StageBuilder& b, const ModelShape& s) {
  const std::int64_t tokens = b.stream_tokens();
  const Dtype type = parameter_dtype(b.training().precision);
  if (s.dropout > 0) b.dropout(s.hidden, b.stream());
  // The clusters' own vectors beside the head's words.
  b.begin();
  b.forward("head's vectors", Pass{PassKind::concat, s.cutoff_1 + clusters, s.hidden, type});
  b.backward("head's vectors", Pass{PassKind::copy, s.cutoff_1 + clusters, s.hidden, type});
  b.ready("cluster.weight", clusters * s.hidden);
  b.ready("cluster.bias", clusters);
  b.backward("head's biases", Pass{PassKind::add, 1, s.vocab, type});
  b.ready("head.bias", s.vocab);
  word_group(b, s, {"head", tokens, s.cutoff_1 + clusters}, false);
  const std::array<double, 4> shares = word_shares(s);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    head_rows(b, s, std::max<std::int64_t>(1, std::llround(shares[i] * real(tokens))), i > 0);
  }
  const std::array<std::int64_t, 3> words{
      s.cutoff_2 - s.cutoff_1, s.cutoff_3 - s.cutoff_2, s.vocab - s.cutoff_3};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto rows = std::max<std::int64_t>(1, std::llround(shares[i + 1] * real(tokens)));
    word_group(b, s, {"cluster", rows, words[i]}, true);
  }
}

std::vector<ParameterTensor> transformer_xl_tensors(const ModelShape& s) {
  const std::int64_t width = s.heads * s.head_dim;
  std::vector<ParameterTensor> out{{"embedding", -1, s.vocab * s.hidden},
                                   {"content_bias", -1, width},
                                   {"position_bias", -1, width}};
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    const auto add = [&](std::string_view role, std::int64_t elements) {
      out.push_back({role, layer, elements});
    };
    add("qkv.weight", s.hidden * 3 * width);
    add("positions.weight", s.hidden * width);
    add("attention_out.weight", width * s.hidden);
    add("norm1.weight", s.hidden);
    add("norm1.bias", s.hidden);
    add("up.weight", s.hidden * s.ffn);
    add("up.bias", s.ffn);
    add("down.weight", s.ffn * s.hidden);
    add("down.bias", s.hidden);
    add("norm2.weight", s.hidden);
    add("norm2.bias", s.hidden);
  }
  out.push_back({"cluster.weight", s.layers, clusters * s.hidden});
  out.push_back({"cluster.bias", s.layers, clusters});
  out.push_back({"head.bias", s.layers, s.vocab});
  return out;
}

std::vector<std::string> transformer_xl_problems(const ModelShape& s) {
  std::vector<std::string> found;
  if (s.memory < 0) found.push_back("memory must not be negative, got " + std::to_string(s.memory));
  if (!(1 <= s.cutoff_1 && s.cutoff_1 < s.cutoff_2 && s.cutoff_2 < s.cutoff_3 &&
        s.cutoff_3 < s.vocab)) {
    found.push_back("cutoff_1, cutoff_2 and cutoff_3 must rise, and stay below vocab: " +
                    std::to_string(s.cutoff_1) + ", " + std::to_string(s.cutoff_2) + ", " +
                    std::to_string(s.cutoff_3) + " of " + std::to_string(s.vocab));
  }
  if (!s.bias || s.rms_norm || s.kv_heads != s.heads || !s.tied_head) {
    found.emplace_back(
        "family txl has biases, LayerNorm, as many kv_heads as heads and a tied_head");
  }
  return found;
}

}  // namespace stepsight
