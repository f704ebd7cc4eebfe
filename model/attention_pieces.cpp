// The attention of model/stage_builder.h: fused, unfused, and spread over the ranks that share a
// sequence.
#include <algorithm>

#include "model/stage_builder.h"

namespace stepsight {

namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

// Queries of a share of the sequence against all keys: as many products as all queries of that
// share of the heads have, over as many keys each. Where the heads cannot be shared out, the same
// products with shorter sequences.
Attention share_of_queries(Attention a, std::int64_t ranks) {
  const std::int64_t heads = a.batch * a.heads;
  if (heads % ranks != 0) {
    a.batch *= ranks;
    a.seq /= ranks;
    return a;
  }
  const std::int64_t queries_per_key = a.heads / a.kv_heads;
  a.batch = 1;
  a.heads = heads / ranks;
  a.kv_heads = std::max<std::int64_t>(1, a.heads / queries_per_key);
  return a;
}

}  // namespace

// Kept for backward: query, key, value and a row's log-sum-exp; the result is kept as the next
// product's input.
void StageBuilder::attention(const Attending& seen) {
  const double width = info(compute()).bytes;
  const std::int64_t keys = seen.keys > 0 ? training_.batch * seen.keys : tokens_;
  piece();
  save(real(tokens_ * shape_.heads * shape_.head_dim) * width);
  save(real(2 * keys * shape_.kv_heads * shape_.head_dim) * width);
  if (training_.flash_attention) {
    save(4 * real(tokens_ * shape_.heads));
    fused_attention(seen);
  } else {
    unfused_attention(seen);
  }
}

// Against another sequence's keys: as many products in square pieces of the shorter of the two.
Attention StageBuilder::whole_attention(const Attending& seen) const {
  const std::int64_t keys = seen.keys > 0 ? seen.keys : training_.seq;
  const std::int64_t side = std::min(keys, training_.seq);
  const std::int64_t pieces = (std::max(keys, training_.seq) + side - 1) / side;
  return {training_.batch * pieces,
          shape_.heads,
          shape_.kv_heads,
          side,
          shape_.head_dim,
          seen.causal,
          false,
          shape_.dropout > 0,
          compute(),
          training_.attention_kernel};
}

void StageBuilder::fused_attention(const Attending& seen) {
  if (parallel_.context > 1) {
    switch (parallel_.context_mode) {
      case ContextMode::ring:
        ring_attention(seen);
        break;
      case ContextMode::all_gather:
        gathered_attention(seen);
        break;
      case ContextMode::all_to_all:
        exchanged_attention(seen);
        break;
    }
  } else {
    Attention a = whole_attention(seen);
    forward("attention", a);
    a.backward = true;
    backward("attention", a);
  }
  if (shape_.fused_qkv) {
    // The three gradients become one tensor again for the fused projection.
    const std::int64_t width = (shape_.heads + 2 * shape_.kv_heads) * shape_.head_dim;
    backward("qkv gradient", pass(PassKind::concat, width, compute()));
  }
}

// Ring attention (Liu et al. 2023, arXiv 2310.01889), as Transformer Engine runs it: keys and
// values travel from rank to rank while the block that is there is worked on, and each block's
// result is merged with those before in fp32. In backward the gradients of keys and values travel
// behind them, one step later, and end where they belong. Under a causal mask a rank holds the i-th
// stretch of 2 ranks from either end (zigzag), so that every step but the first is half a block:
// all queries against half of the keys or half of them against all.
void StageBuilder::ring_attention(const Attending& seen) {
  const std::int64_t steps = parallel_.context;
  const Dtype type = compute();
  const std::int64_t d = shape_.head_dim;
  const double kv = real(tokens_ * 2 * shape_.kv_heads * d) * info(type).bytes;
  Attention own = whole_attention(seen);
  own.seq = seq();
  Attention other = own;
  if (own.causal) {
    other.causal = false;
    other.batch *= 2;
    other.seq /= 2;
  }
  const auto travel = CollectiveKind::send_recv;
  for (std::int64_t step = 0; step < steps; ++step) {
    const bool first = step == 0;
    if (step + 1 < steps) {
      forward_exchange("keys and values", Axis::context, travel, kv, first ? 1 : 2);
    }
    forward("attention", first ? own : other);
    if (!first) forward("attention merge", pass(PassKind::add, shape_.heads * d, Dtype::fp32));
  }
  own.backward = other.backward = true;
  for (std::int64_t step = 0; step < steps; ++step) {
    const bool first = step == 0;
    const bool last = step + 1 == steps;
    backward_exchange(first  ? "keys and values"
                      : last ? "gradients of keys and values"
                             : "keys, values and gradients",
                      Axis::context,
                      travel,
                      first || last ? kv : 2 * kv,
                      first || last ? 1 : 2);
    backward("attention", first ? own : other);
    if (first) continue;
    backward("attention merge",
             pass(PassKind::add, (shape_.heads + 2 * shape_.kv_heads) * d, type));
  }
}

// All keys and values gathered before, their gradients summed and scattered after (Llama Team 2024,
// arXiv 2407.21783, section 3.3.2). The rank's queries lie at both ends of the sequence, so that
// all ranks have as many products.
void StageBuilder::gathered_attention(const Attending& seen) {
  const std::int64_t ranks = parallel_.context;
  const double kv = real(training_.batch * training_.seq * 2 * shape_.kv_heads * shape_.head_dim) *
                    info(compute()).bytes;
  Attention a = share_of_queries(whole_attention(seen), ranks);
  forward_exchange("keys and values", Axis::context, CollectiveKind::all_gather, kv);
  forward("attention", a);
  a.backward = true;
  backward_exchange("keys and values", Axis::context, CollectiveKind::all_gather, kv);
  backward("attention", a);
  backward_exchange(
      "gradients of keys and values", Axis::context, CollectiveKind::reduce_scatter, kv);
}

// Ulysses (Jacobs et al. 2023, arXiv 2309.14509): query, key and value travel from all heads of a
// share of the tokens to all tokens of a share of the heads, each by an all-to-all, and the result
// back. What leaves is laid out by rank, and what came by sequence.
void StageBuilder::exchanged_attention(const Attending& seen) {
  const std::int64_t ranks = parallel_.context;
  const std::int64_t d = shape_.head_dim;
  const double width = info(compute()).bytes;
  const std::int64_t in = (shape_.heads + 2 * shape_.kv_heads) * d;
  const std::int64_t out = shape_.heads * d;
  constexpr auto kind = CollectiveKind::all_to_all;
  const auto bytes = [&](std::int64_t heads) { return real(tokens_ * heads * d) * width; };
  Attention a = whole_attention(seen);
  a.heads /= ranks;
  a.kv_heads /= ranks;
  forward("heads by rank", pass(PassKind::transpose, in, compute()));
  forward_exchange("queries", Axis::context, kind, bytes(shape_.heads));
  forward_exchange("keys", Axis::context, kind, bytes(shape_.kv_heads));
  forward_exchange("values", Axis::context, kind, bytes(shape_.kv_heads));
  forward("tokens by sequence", pass(PassKind::transpose, in, compute()));
  forward("attention", a);
  forward("tokens by rank", pass(PassKind::transpose, out, compute()));
  forward_exchange("attention result", Axis::context, kind, bytes(shape_.heads));
  forward("heads together", pass(PassKind::transpose, out, compute()));
  a.backward = true;
  backward("heads together", pass(PassKind::transpose, out, compute()));
  backward_exchange("gradient of the result", Axis::context, kind, bytes(shape_.heads));
  backward("tokens by rank", pass(PassKind::transpose, out, compute()));
  backward("attention", a);
  backward("tokens by sequence", pass(PassKind::transpose, in, compute()));
  backward_exchange("gradients of queries", Axis::context, kind, bytes(shape_.heads));
  backward_exchange("gradients of keys", Axis::context, kind, bytes(shape_.kv_heads));
  backward_exchange("gradients of values", Axis::context, kind, bytes(shape_.kv_heads));
  backward("heads by rank", pass(PassKind::transpose, in, compute()));
}

// From scores to values: what selective recomputation runs `again` in backward.
void StageBuilder::attention_core(const Attending& seen, bool again) {
  const std::int64_t heads = training_.batch * shape_.heads;
  const std::int64_t t = training_.seq;
  const std::int64_t keys = seen.keys > 0 ? seen.keys : t;
  const std::int64_t d = shape_.head_dim;
  const Dtype type = compute();
  const auto scores = [&](PassKind kind) { return Pass{kind, heads * t, keys, type}; };
  const auto add = [&](std::string_view label, const Work& work) {
    if (again) {
      backward(label, work);
    } else {
      forward(label, work);
    }
  };
  add("attention scores", Gemm{t, keys, d, heads, type, Layout::TN});
  if (!fused_kernels() && scales_scores(shape_.family))
    add("attention scale", scores(PassKind::copy));
  if (!fused_kernels()) add("attention mask", scores(PassKind::add_broadcast));
  add("attention softmax", scores(PassKind::softmax));
  if (shape_.dropout > 0) add("attention dropout", scores(PassKind::dropout));
  add("attention values", Gemm{t, d, keys, heads, type, Layout::NN});
}

// Scores as a tensor: two batched products, and between them scale, mask, softmax and dropout, each
// a pass over heads x t x t elements of its own, forward and backward (the mask has no backward),
// or scale, mask and softmax one pass. The batched products want each head's rows together: query,
// key, value and the result are copied, and so are their gradients.
void StageBuilder::unfused_attention(const Attending& seen) {
  const std::int64_t heads = training_.batch * shape_.heads;
  const std::int64_t t = training_.seq;
  const std::int64_t keys = seen.keys > 0 ? seen.keys : t;
  const std::int64_t d = shape_.head_dim;
  const Dtype type = compute();
  const auto scores = [&](PassKind kind) { return Pass{kind, heads * t, keys, type}; };
  // Rows of one width: query's own tokens, and keys and values of theirs.
  const std::int64_t width = (shape_.heads + 2 * shape_.kv_heads * keys / t) * d;
  const bool again = training_.recompute == Recompute::selective;
  forward("attention split", pass(PassKind::transpose, width, type));
  attention_core(seen, false);
  forward("attention merge", pass(PassKind::transpose, shape_.heads * d, type));
  backward("attention merge", pass(PassKind::transpose, shape_.heads * d, type));
  if (again) attention_core(seen, true);
  backward("attention values", Gemm{t, keys, d, heads, type, Layout::TN});
  backward("attention values", Gemm{keys, d, t, heads, type, Layout::NT});
  if (shape_.dropout > 0) backward("attention dropout", scores(PassKind::dropout));
  backward("attention softmax", scores(PassKind::softmax_backward));
  if (!fused_kernels() && scales_scores(shape_.family)) {
    backward("attention scale", scores(PassKind::copy));
  }
  backward("attention scores", Gemm{t, d, keys, heads, type, Layout::NN});
  backward("attention scores", Gemm{keys, d, t, heads, type, Layout::NT});
  backward("attention split", pass(PassKind::transpose, width, type));
  // The weights after the softmax; with dropout its mask and its result, too (Korthikanti et al.
  // 2022, section 4.1).
  const double size = info(type).bytes;
  const double kept = real(heads * t) * real(keys) * (shape_.dropout > 0 ? 2 * size + 1 : size);
  if (again) {
    stage_.peak_bytes += kept;
  } else {
    save(kept);
  }
}

// Query and key times cosine plus their rotated halves times sine: per tensor two products, the
// rotation (negate and concatenate) and a sum, each way.
void StageBuilder::rotary() {
  const std::int64_t width = (shape_.heads + shape_.kv_heads) * shape_.head_dim;
  piece();
  if (fused_kernels()) {
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

}  // namespace stepsight
