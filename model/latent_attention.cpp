#include "model/latent_attention.h"

namespace stepsight {

namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

// Widths of all heads together.
std::int64_t query_width(const ModelShape& s) {
  return s.heads * (s.head_dim + s.rope_dim);
}
std::int64_t key_value_width(const ModelShape& s) {
  return s.heads * (s.head_dim + s.v_dim);
}

void narrow_norm(StageBuilder& b, std::int64_t width) {
  const auto pass = [&](PassKind kind) {
    return Pass{kind, b.stream_tokens(), width, b.compute()};
  };
  b.begin();
  b.forward("latent norm", pass(b.fused() ? PassKind::fused_norm : PassKind::rms_norm));
  b.backward("latent norm",
             pass(b.fused() ? PassKind::fused_norm_backward : PassKind::rms_norm_backward));
  b.ready("norm.weight", width);
  b.save(real(b.stream_tokens() * width) * info(b.compute()).bytes);
}

// As StageBuilder::rotary, over the rotated columns alone, and each head's parts put side by side.
void rotate_and_assemble(StageBuilder& b, const ModelShape& s) {
  const auto rotated = [&](PassKind kind) {
    return Pass{kind, b.stream_tokens(), (s.heads + 1) * s.rope_dim, b.compute()};
  };
  const Pass assembled{PassKind::concat, b.stream_tokens(), 2 * query_width(s), b.compute()};
  b.begin();
  if (b.fused()) {
    b.forward("rotary", rotated(PassKind::copy));
    b.backward("rotary", rotated(PassKind::copy));
  } else {
    for (const PassKind kind :
         {PassKind::mul_strided, PassKind::concat, PassKind::mul_strided, PassKind::add}) {
      b.forward("rotary", rotated(kind));
    }
    b.backward("rotary", rotated(PassKind::mul_strided));
    b.backward("rotary", rotated(PassKind::mul_strided));
    b.backward("rotary", rotated(PassKind::concat));
    b.backward("rotary", rotated(PassKind::add));
  }
  b.forward("queries and keys", assembled);
  b.backward("queries and keys", assembled);
}

}  // namespace

void latent_attention(StageBuilder& b, const ModelShape& s) {
  if (s.q_rank > 0) {
    b.linear({.label = "query down",
              .in = s.hidden,
              .out = s.q_rank,
              .input = b.stream(),
              .siblings = 1});
    narrow_norm(b, s.q_rank);
    b.linear({.label = "query up", .in = s.q_rank, .out = query_width(s), .input = b.compute()});
  } else {
    b.linear({.label = "query",
              .in = s.hidden,
              .out = query_width(s),
              .input = b.stream(),
              .siblings = 1});
  }
  b.linear({.label = "key-value down",
            .in = s.hidden,
            .out = s.kv_rank + s.rope_dim,
            .input = b.stream()});
  narrow_norm(b, s.kv_rank);
  b.linear(
      {.label = "key-value up", .in = s.kv_rank, .out = key_value_width(s), .input = b.compute()});
  rotate_and_assemble(b, s);
  const Training& t = b.training();
  Attention a{t.batch,
              s.heads,
              s.heads,
              t.seq,
              (s.head_dim + s.rope_dim + s.v_dim) / 2,
              true,
              false,
              false,
              b.compute(),
              t.attention_kernel};
  b.begin();
  b.forward("attention", a);
  a.backward = true;
  b.backward("attention", a);
  b.save(
      real(b.stream_tokens()) *
      (real(2 * query_width(s) + s.heads * s.v_dim) * info(b.compute()).bytes + 4 * real(s.heads)));
  b.linear({.label = "attention output",
            .in = s.heads * s.v_dim,
            .out = s.hidden,
            .input = b.compute()});
}

std::vector<std::pair<std::string_view, std::int64_t>> latent_attention_tensors(
    const ModelShape& s) {
  std::vector<std::pair<std::string_view, std::int64_t>> out;
  if (s.q_rank > 0) {
    out = {{"q_down.weight", s.hidden * s.q_rank},
           {"q_norm.weight", s.q_rank},
           {"q_up.weight", s.q_rank * query_width(s)}};
  } else {
    out = {{"q.weight", s.hidden * query_width(s)}};
  }
  out.insert(out.end(),
             {{"kv_down.weight", s.hidden * (s.kv_rank + s.rope_dim)},
              {"kv_norm.weight", s.kv_rank},
              {"kv_up.weight", s.kv_rank * key_value_width(s)},
              {"attention_out.weight", s.heads * s.v_dim * s.hidden}});
  return out;
}

std::vector<std::string> latent_attention_problems(const ModelShape& s) {
  std::vector<std::string> found;
  if (s.kv_rank == 0) {
    if (s.q_rank != 0) found.emplace_back("q_rank needs kv_rank (latent attention)");
    if (s.rope_dim != 0) found.emplace_back("rope_dim needs kv_rank (latent attention)");
    if (s.v_dim != 0) found.emplace_back("v_dim needs kv_rank (latent attention)");
    return found;
  }
  if (s.family != Family::llama || s.bias || s.qkv_bias) {
    found.emplace_back("kv_rank belongs to family llama without biases only");
  }
  if (s.kv_rank < 0) found.emplace_back("kv_rank must not be negative");
  if (s.q_rank < 0) found.emplace_back("q_rank must not be negative");
  if (s.rope_dim < 1) found.emplace_back("rope_dim must be at least 1 with kv_rank");
  if (s.v_dim < 1) found.emplace_back("v_dim must be at least 1 with kv_rank");
  if (s.kv_heads != s.heads) found.emplace_back("kv_heads must equal heads with kv_rank");
  return found;
}

}  // namespace stepsight
