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
    b_.forward("relative shift", scores(PassKind::concat_column));
    b_.backward("relative shift", scores(PassKind::fill));
    b_.backward("relative shift", scores(PassKind::copy_region));
    b_.backward("relative shift", scores(PassKind::copy_apart));
    b_.begin();
    // Sum and scale in one compiled kernel, the mask in place; its backward masks a copy.
    b_.forward("scores", scores(PassKind::scaled_sum));
    b_.backward("scores", scores(PassKind::scaled_twice));
    b_.begin();
    both("attention mask", scores(PassKind::masked_fill));
    b_.backward("attention mask", scores(PassKind::copy));
    softmax(real(n * segment_) * real(keys_));
  }

  // Autocast takes the softmax in fp32, and casts what the product with the values takes.
  void softmax(double elements) {
    const bool mixed = b_.training().precision.mixed;
    const auto wide = [&](PassKind kind) {
      Pass pass = scores(kind);
      if (mixed) pass.dtype = Dtype::fp32;
      return pass;
    };
    const double size = info(mixed ? Dtype::fp32 : type_).bytes;
    b_.begin();
    if (mixed) b_.forward("attention softmax", scores(PassKind::cast_up));
    b_.forward("attention softmax", wide(PassKind::softmax));
    b_.backward("attention softmax", wide(PassKind::softmax_backward));
    if (mixed) b_.backward("attention softmax", scores(PassKind::cast_down));
    b_.save(elements * (info(type_).bytes + size));  // the product's weights and the softmax's own
    if (s_.attention_dropout > 0) {
      b_.begin();
      both("attention dropout", wide(PassKind::dropout));
      b_.save(elements * (size + 1));  // weights and their mask
    }
    if (!mixed) return;
    b_.begin();
    b_.forward("attention weights", scores(PassKind::cast_down));
    b_.backward("attention weights", scores(PassKind::cast_up));
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

constexpr std::int64_t groups = clusters + 1;
constexpr std::array<std::string_view, groups> table_names{
    "embedding", "embedding_1", "embedding_2", "embedding_3"};
constexpr std::array<std::string_view, groups> projection_names{
    "projection", "projection_1", "projection_2", "projection_3"};
constexpr std::array<std::string_view, groups> bias_names{
    "head.bias", "head.bias_1", "head.bias_2", "head.bias_3"};

std::array<std::int64_t, groups> group_words(const ModelShape& s) {
  return {s.cutoff_1, s.cutoff_2 - s.cutoff_1, s.cutoff_3 - s.cutoff_2, s.vocab - s.cutoff_3};
}

// Width of a group's word vectors: problems() sees to it that it divides.
std::int64_t vector_width(const ModelShape& s, std::int64_t group) {
  std::int64_t width = s.hidden;
  for (std::int64_t i = 0; i < group; ++i) width /= s.div_val;
  return width;
}

// Rows of a step whose word is in each group, at least one.
std::array<std::int64_t, groups> group_rows(const ModelShape& s, std::int64_t tokens) {
  const std::array<double, groups> shares = word_shares(s);
  std::array<std::int64_t, groups> out{};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    out[i] = std::max<std::int64_t>(1, std::llround(shares[i] * real(tokens)));
  }
  return out;
}

// Logits of some rows over some words, and their cross-entropy.
struct WordGroup {
  std::string_view label;
  std::int64_t group = 0;
  std::int64_t rows = 0;
  std::int64_t words = 0;
};

// Where all word vectors are one table the group's are a slice of it: backward fills a table of its
// size with zeros, copies the slice's gradient there and adds the tables up. Narrower ones are
// tables of their own; the head's rows come to them through a projection of its own, a cluster's
// through the embedding's.
void word_group(StageBuilder& b, const ModelShape& s, const WordGroup& group, bool gathered) {
  const auto logits = [&](PassKind kind) {
    return Pass{kind, group.rows, group.words, b.compute()};
  };
  if (gathered) {
    const auto rows = [&](PassKind kind) { return Pass{kind, group.rows, s.hidden, b.stream()}; };
    b.begin();
    b.forward("cluster's tokens", rows(PassKind::embedding));
    b.backward("cluster's tokens", rows(PassKind::index_add));
    b.backward("cluster's tokens", Pass{PassKind::fill, b.stream_tokens(), s.hidden, b.stream()});
  }
  const Dtype type = parameter_dtype(b.training().precision);
  const std::int64_t width = vector_width(s, group.group);
  if (s.div_val == 1) {
    b.begin();
    b.backward("word vectors' gradient", Pass{PassKind::fill, s.vocab, s.hidden, type});
    b.backward("word vectors' gradient", Pass{PassKind::add, s.vocab, s.hidden, type});
  } else {
    b.linear({.label = "projection",
              .in = s.hidden,
              .out = width,
              .input = b.stream(),
              .weight_gradient_pending = gathered,
              .rows = group.rows});
  }
  b.linear({.label = group.label,
            .in = width,
            .out = group.words,
            .input = s.div_val == 1 ? b.stream() : b.compute(),
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
  b.save(real(group.rows * group.words) * info(b.compute()).bytes);  // log-probabilities alone
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
  b.backward("head's rows", over(PassKind::index_add, rows));
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
  const std::array<std::int64_t, groups> words = group_words(s);
  if (s.div_val == 1) {
    b.backward("head's biases", Pass{PassKind::add, 1, s.vocab, type});
    b.ready(bias_names[0], s.vocab);
  } else {
    for (std::size_t i = 0; i < words.size(); ++i) b.ready(bias_names[i], words[i]);
  }
  word_group(b, s, {"head", 0, tokens, s.cutoff_1 + clusters}, false);
  const std::array<std::int64_t, groups> rows = group_rows(s, tokens);
  for (std::size_t i = 0; i < groups; ++i) head_rows(b, s, rows[i], i > 0);
  for (std::size_t i = 1; i < groups; ++i) {
    word_group(b, s, {"cluster", static_cast<std::int64_t>(i), rows[i], words[i]}, true);
  }
}

void adaptive_embedding(StageBuilder& b, const ModelShape& s) {
  const std::int64_t tokens = b.stream_tokens();
  const Dtype type = parameter_dtype(b.training().precision);
  const std::array<std::int64_t, groups> words = group_words(s);
  const std::array<std::int64_t, groups> rows = group_rows(s, tokens);
  b.begin();
  b.forward("embedding", Pass{PassKind::fill, tokens, s.hidden, type});
  for (std::size_t i = 0; i < groups; ++i) {
    const std::int64_t width = vector_width(s, static_cast<std::int64_t>(i));
    const Pass table{PassKind::fill, words[i], width, type};
    b.begin();
    b.forward("embedding", Pass{PassKind::embedding, rows[i], width, type});
    b.backward("embedding", table);
    b.backward("embedding", Pass{PassKind::embedding_backward, rows[i], width, type});
    b.backward("tied gradient", Pass{PassKind::add, words[i], width, type});
    b.ready(table_names[i], words[i] * width);
    b.linear({.label = "projection",
              .in = width,
              .out = s.hidden,
              .input = type,
              .weight_gradient_pending = i > 0,
              .rows = rows[i]});
    b.begin();
    // Scattered to the tokens' places; in backward gathered from there, and the tied projection
    // complete.
    b.forward("embedding", Pass{PassKind::embedding, rows[i], s.hidden, type});
    b.backward("embedding", Pass{PassKind::embedding, rows[i], s.hidden, type});
    if (i == 0) continue;
    b.backward("tied gradient", Pass{PassKind::add, width, s.hidden, type});
    b.ready(projection_names[i], width * s.hidden);
  }
  b.begin();
  b.forward("embedding scale", Pass{PassKind::copy, tokens, s.hidden, type});
  b.backward("embedding scale", Pass{PassKind::copy, tokens, s.hidden, type});
}

std::vector<ParameterTensor> transformer_xl_tensors(const ModelShape& s) {
  const std::int64_t width = s.heads * s.head_dim;
  std::vector<ParameterTensor> out;
  const std::array<std::int64_t, groups> words = group_words(s);
  if (s.div_val == 1) {
    out.push_back({table_names[0], -1, s.vocab * s.hidden});
  } else {
    for (std::size_t i = 0; i < groups; ++i) {
      out.push_back({table_names[i], -1, words[i] * vector_width(s, static_cast<std::int64_t>(i))});
    }
    for (std::size_t i = 0; i < groups; ++i) {
      const std::int64_t narrow = vector_width(s, static_cast<std::int64_t>(i));
      out.push_back({projection_names[i], -1, narrow * s.hidden});
    }
  }
  out.push_back({"content_bias", -1, width});
  out.push_back({"position_bias", -1, width});
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
  if (s.div_val == 1) {
    out.push_back({bias_names[0], s.layers, s.vocab});
    return out;
  }
  out.push_back({"head.projection", s.layers, s.hidden * s.hidden});
  for (std::size_t i = 0; i < groups; ++i) out.push_back({bias_names[i], s.layers, words[i]});
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
  if (s.div_val < 1 || vector_width(s, clusters) < 1 ||
      s.hidden % (s.div_val * s.div_val * s.div_val) != 0) {
    found.push_back("div_val cubed must divide hidden, got " + std::to_string(s.div_val) + " and " +
                    std::to_string(s.hidden));
  }
  if (!s.bias || s.rms_norm || s.kv_heads != s.heads || !s.tied_head) {
    found.emplace_back(
        "family txl has biases, LayerNorm, as many kv_heads as heads and a tied_head");
  }
  return found;
}

}  // namespace stepsight
