#include "model/moe.h"

#include <algorithm>
#include <cmath>

namespace stepsight {

namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

class ExpertLayer {
 public:
  ExpertLayer(StageBuilder& b, const ModelShape& shape)
      : b_(b),
        s_(shape),
        tokens_(b.stream_tokens()),
        visits_(tokens_ * shape.experts_per_token),
        ranks_(b.parallel().expert),
        held_(shape.experts / ranks_),
        rows_(expert_rows(
            shape, b.tokens() * ranks_, ranks_ > 1 ? b.parallel().expert_imbalance : 1)) {}

  void write() {
    route();
    dispatch();
    arrive();
    grouped("expert gate", s_.hidden, s_.expert_ffn);
    grouped("expert up", s_.hidden, s_.expert_ffn);
    b_.swiglu(s_.expert_ffn, rows_ * held_);
    grouped("expert down", s_.expert_ffn, s_.hidden);
    leave();
    combine();
    if (s_.shared_experts > 0) shared();
  }

 private:
  [[nodiscard]] bool split() const { return b_.parallel().tensor > 1; }
  [[nodiscard]] bool mixed() const { return b_.training().precision.mixed; }
  [[nodiscard]] Pass per_visit(PassKind kind) const {
    return {kind, visits_, s_.hidden, b_.compute()};
  }

  // Scores in fp32; the chosen experts' ones weigh their results.
  void route() {
    b_.linear({.label = "router",
               .in = s_.hidden,
               .out = s_.experts,
               .input = b_.stream(),
               .siblings = s_.shared_experts > 0 ? 2 : 1,
               .fp8 = false});
    const auto scores = [&](PassKind kind) { return Pass{kind, tokens_, s_.experts, Dtype::fp32}; };
    b_.begin();
    b_.forward("router softmax", scores(PassKind::softmax));
    b_.forward("top-k", scores(PassKind::copy));
    b_.backward("top-k", scores(PassKind::fill));
    b_.backward("router softmax", scores(PassKind::softmax_backward));
  }

  // Tokens in the order of their experts; backward sums a token's copies.
  void dispatch() {
    b_.begin();
    if (mixed()) {
      const Pass narrow{PassKind::cast_down, tokens_, s_.hidden, b_.compute()};
      b_.forward("dispatch", narrow);
    }
    b_.forward("dispatch", per_visit(PassKind::embedding));
    b_.backward("dispatch", per_visit(PassKind::embedding));
    sum_visits(true);
    if (mixed()) b_.backward("dispatch", Pass{PassKind::cast_up, tokens_, s_.hidden, b_.compute()});
    b_.save(real(visits_ * s_.hidden) * info(b_.compute()).bytes);
  }

  // With expert parallelism the copies travel to the ranks that hold their experts, come from each
  // rank in that rank's order, and are sorted by expert (Megatron-LM, MoEAlltoAllTokenDispatcher);
  // results go back the same way, and so do gradients in backward. The rank with the fullest
  // experts receives most, and all wait for it. Tensor-parallel ranks, each with a share of the
  // tokens and of every expert's width, gather what came for all of them, and scatter the sums of
  // the results.
  [[nodiscard]] double message() const {
    return b_.parallel().expert_imbalance * expert_exchange_bytes(s_, tokens_, b_.compute());
  }
  [[nodiscard]] Pass per_row() const {
    return {PassKind::embedding, rows_ * held_, s_.hidden, b_.compute()};
  }
  [[nodiscard]] bool sorted() const { return ranks_ > 1 && held_ > 1; }
  [[nodiscard]] double gathered() const {
    return real(rows_ * held_ * s_.hidden) * info(b_.compute()).bytes;
  }
  void arrive() {
    b_.begin();
    if (ranks_ > 1) {
      b_.forward_exchange("dispatch", Axis::expert, CollectiveKind::all_to_all, message());
      // How many tokens go where is known in advance only where all are padded to a capacity.
      if (s_.capacity_factor == 1) b_.stop_host();
    }
    if (split()) {
      b_.forward_exchange("dispatched", Axis::tensor, CollectiveKind::all_gather, gathered());
    }
    if (sorted()) b_.forward("sort by expert", per_row());
    if (sorted()) b_.backward("sort by expert", per_row());
    if (split()) {
      b_.backward_exchange("dispatched", Axis::tensor, CollectiveKind::reduce_scatter, gathered());
    }
    if (ranks_ > 1) {
      b_.backward_exchange(
          "gradients of dispatched", Axis::expert, CollectiveKind::all_to_all, message());
    }
  }
  void leave() {
    b_.begin();
    if (sorted()) b_.forward("sort by rank", per_row());
    if (split()) {
      b_.forward_exchange("results", Axis::tensor, CollectiveKind::reduce_scatter, gathered());
    }
    if (ranks_ > 1)
      b_.forward_exchange("combine", Axis::expert, CollectiveKind::all_to_all, message());
    if (ranks_ > 1) {
      b_.backward_exchange(
          "gradients of combined", Axis::expert, CollectiveKind::all_to_all, message());
    }
    if (split())
      b_.backward_exchange("results", Axis::tensor, CollectiveKind::all_gather, gathered());
    if (sorted()) b_.backward("sort by rank", per_row());
  }

  void sum_visits(bool backward) {
    const std::int64_t sums = s_.experts_per_token - 1;
    if (sums == 0) return;
    const Pass add{PassKind::add, tokens_ * sums, s_.hidden, b_.compute()};
    if (backward) {
      b_.backward("sum of a token's copies", add);
    } else {
      b_.forward("sum of experts", add);
    }
  }

  // One product for all experts of the rank, each with its own matrix.
  void grouped(std::string_view label, std::int64_t in, std::int64_t out) {
    const std::int64_t n = held_;
    const bool narrow = b_.training().fp8;
    const Dtype type = narrow ? Dtype::fp8 : b_.compute();
    const auto to_fp8 = [&](std::int64_t rows, std::int64_t cols) {
      return Pass{PassKind::copy, rows, cols, b_.compute()};
    };
    b_.begin();
    if (narrow) {
      b_.forward(fp8_cast, to_fp8(rows_ * n, in));
      b_.forward(fp8_cast, to_fp8(n * out, in));
      b_.backward(label, to_fp8(rows_ * n, out));
    }
    if (mixed()) b_.forward(label, Pass{PassKind::cast_down, n * out, in, b_.compute()});
    b_.forward(label, Gemm{rows_, out, in, n, type, Layout::TN});
    b_.backward(label, Gemm{rows_, in, out, n, type, Layout::NN});
    b_.backward(label, Gemm{out, in, rows_, n, type, Layout::NT});
    if (mixed()) b_.backward(label, Pass{PassKind::cast_up, n * out, in, b_.compute()});
    b_.expert_ready("expert.weight", n * in * out);
    b_.save(real(rows_ * n * in + (mixed() ? n * in * out : 0)) * info(type).bytes);
  }

  void combine() {
    b_.begin();
    b_.forward("combine", per_visit(PassKind::embedding));
    b_.forward("expert weights", per_visit(PassKind::add_broadcast));
    sum_visits(false);
    b_.backward("expert weights", per_visit(PassKind::add_broadcast));
    b_.backward("weights' gradient", per_visit(PassKind::bias_gradient));
    b_.backward("combine", per_visit(PassKind::embedding));
    b_.save(real(visits_ * s_.hidden) * info(b_.compute()).bytes);
  }

  void shared() {
    const std::int64_t width = s_.shared_experts * s_.expert_ffn;
    using Cut = StageBuilder::Cut;
    b_.linear({.label = "shared gate",
               .in = s_.hidden,
               .out = width,
               .input = b_.stream(),
               .siblings = 1,
               .cut = Cut::columns,
               .last = false});
    b_.linear({.label = "shared up",
               .in = s_.hidden,
               .out = width,
               .input = b_.stream(),
               .cut = Cut::columns,
               .first = false});
    b_.swiglu(width, b_.tokens());
    b_.linear({.label = "shared down",
               .in = width,
               .out = s_.hidden,
               .input = b_.compute(),
               .cut = Cut::rows});
    b_.forward("shared add", Pass{PassKind::add, tokens_, s_.hidden, b_.compute()});
  }

  StageBuilder& b_;
  const ModelShape& s_;
  std::int64_t tokens_;
  std::int64_t visits_;  // tokens times the experts that each visits
  std::int64_t ranks_;   // that share out the experts
  std::int64_t held_;    // experts of this rank
  std::int64_t rows_;    // of each expert
};

void require(std::vector<std::string>& found, bool good, const std::string& sentence) {
  if (!good) found.push_back(sentence);
}

}  // namespace

std::int64_t expert_rows(const ModelShape& shape, std::int64_t tokens, double imbalance) {
  const double even = real(tokens * shape.experts_per_token) / real(shape.experts);
  const double rows = even * shape.capacity_factor * imbalance;
  return std::max<std::int64_t>(1, std::llround(std::ceil(rows - 1e-9)));
}

double expert_exchange_bytes(const ModelShape& shape, std::int64_t tokens, Dtype dtype) {
  return real(tokens * shape.experts_per_token) * shape.capacity_factor * real(shape.hidden) *
         info(dtype).bytes;
}

double expert_parameters(const ModelShape& s) {
  return real(s.layers - s.dense_layers) * 3 * real(s.experts) * real(s.hidden) *
         real(s.expert_ffn);
}

void expert_feed_forward(StageBuilder& b, const ModelShape& shape) {
  ExpertLayer(b, shape).write();
}

std::vector<std::pair<std::string_view, std::int64_t>> expert_tensors(const ModelShape& s) {
  const std::int64_t matrix = s.experts * s.hidden * s.expert_ffn;
  std::vector<std::pair<std::string_view, std::int64_t>> out{
      {"router.weight", s.hidden * s.experts},
      {"experts.gate.weight", matrix},
      {"experts.up.weight", matrix},
      {"experts.down.weight", matrix}};
  if (s.shared_experts > 0) {
    const std::int64_t shared = s.shared_experts * s.expert_ffn * s.hidden;
    out.insert(out.end(),
               {{"shared.gate.weight", shared},
                {"shared.up.weight", shared},
                {"shared.down.weight", shared}});
  }
  return out;
}

std::vector<std::string> expert_problems(const ModelShape& s) {
  std::vector<std::string> found;
  const std::string count = std::to_string(s.experts);
  require(found, s.experts >= 0, "experts must not be negative, got " + count);
  if (s.experts <= 0) {
    require(found,
            s.experts_per_token == 0,
            "experts_per_token needs experts, of which there are none");
    require(found, s.shared_experts == 0, "shared_experts needs experts, of which there are none");
    require(found, s.expert_ffn == 0, "expert_ffn needs experts, of which there are none");
    require(found, s.dense_layers == 0, "dense_layers needs experts, of which there are none");
    return found;
  }
  require(found,
          s.family == Family::llama && s.gated_ffn && !s.bias,
          "experts belong to family llama without biases only");
  require(found,
          s.experts_per_token >= 1 && s.experts_per_token <= s.experts,
          "experts_per_token must be 1 to experts = " + count + ", got " +
              std::to_string(s.experts_per_token));
  require(found,
          s.expert_ffn >= 1,
          "expert_ffn must be at least 1, got " + std::to_string(s.expert_ffn));
  require(found,
          s.shared_experts >= 0,
          "shared_experts must not be negative, got " + std::to_string(s.shared_experts));
  require(found,
          s.dense_layers >= 0 && s.dense_layers < s.layers,
          "dense_layers must be 0 to layers - 1, got " + std::to_string(s.dense_layers));
  require(found,
          s.capacity_factor >= 1 && s.capacity_factor <= 1000,
          "capacity_factor must be 1 to 1000");
  return found;
}

}  // namespace stepsight
