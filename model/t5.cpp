#include "model/t5.h"

#include <utility>

#include "model/stage_builder.h"

namespace stepsight {

namespace {

std::int64_t inner(const ModelShape& s) {
  return s.heads * s.head_dim;
}

Training of_targets(const Training& training) {
  Training out = training;
  if (training.target_seq > 0) out.seq = training.target_seq;
  return out;
}

// Two stretches, one after the other: backward runs the second first.
StageWork joined(StageWork first, StageWork second) {
  const auto forward = static_cast<std::uint32_t>(first.forward.size());
  const auto backward = static_cast<std::uint32_t>(second.backward.size());
  StageWork out = std::move(first);
  out.forward.insert(out.forward.end(), second.forward.begin(), second.forward.end());
  for (Exchange e : second.forward_exchanges) {
    e.before += forward;
    out.forward_exchanges.push_back(e);
  }
  for (Exchange& e : out.backward_exchanges) e.before += backward;
  out.backward_exchanges.insert(out.backward_exchanges.begin(),
                                second.backward_exchanges.begin(),
                                second.backward_exchanges.end());
  for (GradientReady& r : out.ready) r.after += backward;
  out.ready.insert(out.ready.begin(), second.ready.begin(), second.ready.end());
  out.backward.insert(out.backward.begin(), second.backward.begin(), second.backward.end());
  out.saved_bytes += second.saved_bytes;
  out.peak_bytes += second.peak_bytes;
  return out;
}

// The scores' bias: looked up once a pass and stack, and added with the mask by the attention. Its
// gradient is a sum over the batch in each layer; fused attention has none.
void bias_by_distance(StageBuilder& b, const ModelShape& s) {
  const std::int64_t t = b.training().seq;
  b.begin();
  b.forward("position bias", Pass{PassKind::embedding, t * t, s.heads, b.compute()});
  b.backward("position bias", Pass{PassKind::embedding_backward, t * t, s.heads, b.compute()});
  b.ready("relative_bias", relative_buckets * s.heads);
}
void bias_gradient(StageBuilder& b, const ModelShape& s) {
  const Training& t = b.training();
  if (t.flash_attention) return;
  b.begin();
  b.backward("position bias",
             Pass{PassKind::bias_gradient, t.batch, s.heads * t.seq * t.seq, b.compute()});
}

void close_branch(StageBuilder& b, const ModelShape& s) {
  if (s.dropout > 0) b.dropout(s.hidden, b.compute(), true);
  b.residual_add();
}

void output(StageBuilder& b, const ModelShape& s) {
  b.linear({.label = "attention output", .in = inner(s), .out = s.hidden, .input = b.compute()});
}

void self_attention(StageBuilder& b, const ModelShape& s, bool causal) {
  b.norm("norm", true);
  b.linear({.label = "query", .in = s.hidden, .out = inner(s), .input = b.stream(), .siblings = 1});
  b.linear({.label = "key", .in = s.hidden, .out = inner(s), .input = b.stream(), .siblings = 1});
  b.linear({.label = "value", .in = s.hidden, .out = inner(s), .input = b.stream()});
  bias_gradient(b, s);
  b.attention({causal, 0});
  output(b, s);
  close_branch(b, s);
}

// Keys and values are the encoder's result, of which each layer adds a gradient to those of the
// layers after it.
void cross_attention(StageBuilder& b, const ModelShape& s, const Training& inputs) {
  const std::int64_t rows = inputs.batch * inputs.seq;
  b.norm("norm", true);
  b.linear({.label = "cross query", .in = s.hidden, .out = inner(s), .input = b.stream()});
  b.linear({.label = "cross key",
            .in = s.hidden,
            .out = inner(s),
            .input = b.stream(),
            .siblings = 1,
            .residual = true,
            .rows = rows});
  b.linear(
      {.label = "cross value", .in = s.hidden, .out = inner(s), .input = b.stream(), .rows = rows});
  b.attention({false, inputs.seq});
  output(b, s);
  close_branch(b, s);
}

void feed_forward(StageBuilder& b, const ModelShape& s) {
  b.norm("norm", true);
  if (s.gated_ffn) {
    b.linear(
        {.label = "mlp gate", .in = s.hidden, .out = s.ffn, .input = b.stream(), .siblings = 1});
    b.linear({.label = "mlp up", .in = s.hidden, .out = s.ffn, .input = b.stream()});
    b.swiglu();
  } else {
    b.linear({.label = "mlp up", .in = s.hidden, .out = s.ffn, .input = b.stream()});
    b.gelu(s.ffn);  // ReLU: the same bytes
  }
  if (s.dropout > 0) b.dropout(s.ffn, b.compute());
  b.linear({.label = "mlp down", .in = s.ffn, .out = s.hidden, .input = b.compute()});
  close_branch(b, s);
}

StageWork embeddings(const ModelShape& s,
                     const Training& inputs,
                     const Training& targets,
                     const Parallel& parallel) {
  StageBuilder encoder(s, inputs, parallel);
  encoder.embedding();
  if (s.dropout > 0) encoder.dropout(s.hidden, encoder.stream());
  bias_by_distance(encoder, s);
  // The decoder looks its tokens up in the same table, and adds to the same gradient.
  StageBuilder decoder(s, targets, parallel);
  const Dtype type = parameter_dtype(targets.precision);
  const std::int64_t tokens = targets.batch * targets.seq;
  decoder.begin();
  decoder.forward("embedding", Pass{PassKind::embedding, tokens, s.hidden, type});
  decoder.backward("embedding", Pass{PassKind::embedding_backward, tokens, s.hidden, type});
  if (s.dropout > 0) decoder.dropout(s.hidden, decoder.stream());
  bias_by_distance(decoder, s);
  return joined(encoder.finish(), decoder.finish());
}

StageWork layers(const ModelShape& s,
                 const Training& inputs,
                 const Training& targets,
                 const Parallel& parallel) {
  StageBuilder encoder(s, inputs, parallel);
  self_attention(encoder, s, false);
  feed_forward(encoder, s);
  StageBuilder decoder(s, targets, parallel);
  self_attention(decoder, s, true);
  cross_attention(decoder, s, inputs);
  feed_forward(decoder, s);
  return joined(encoder.finish(), decoder.finish());
}

StageWork head(const ModelShape& s,
               const Training& inputs,
               const Training& targets,
               const Parallel& parallel) {
  StageBuilder encoder(s, inputs, parallel);
  encoder.norm("encoder norm", false);
  if (s.dropout > 0) encoder.dropout(s.hidden, encoder.stream());
  StageBuilder decoder(s, targets, parallel);
  decoder.norm("final norm", false);
  if (s.dropout > 0) decoder.dropout(s.hidden, decoder.stream());
  decoder.linear({.label = "head",
                  .in = s.hidden,
                  .out = s.vocab,
                  .input = decoder.stream(),
                  .weight_gradient_pending = s.tied_head,
                  .fp8 = false});
  decoder.loss();
  return joined(encoder.finish(), decoder.finish());
}

}  // namespace

ModelStages t5_stages(const ModelShape& shape, const Training& training, const Parallel& parallel) {
  const Training targets = of_targets(training);
  return {embeddings(shape, training, targets, parallel),
          layers(shape, training, targets, parallel),
          head(shape, training, targets, parallel),
          shape.layers};
}

std::vector<ParameterTensor> t5_tensors(const ModelShape& s) {
  std::vector<ParameterTensor> out{{"embedding", -1, s.vocab * s.hidden}};
  const std::int64_t matrix = s.hidden * inner(s);
  std::int64_t layer = 0;
  const auto add = [&](std::string_view role, std::int64_t elements) {
    out.push_back({role, layer, elements});
  };
  const auto attention = [&](bool with_bias) {
    for (const char* role : {"q.weight", "k.weight", "v.weight", "attention_out.weight"})
      add(role, matrix);
    if (with_bias) add("relative_bias", relative_buckets * s.heads);
    add("norm.weight", s.hidden);
  };
  for (const bool decoder : {false, true}) {
    for (layer = 0; layer < s.layers; ++layer) {
      attention(layer == 0);
      if (decoder) attention(false);
      if (s.gated_ffn) add("gate.weight", s.hidden * s.ffn);
      add("up.weight", s.hidden * s.ffn);
      add("down.weight", s.ffn * s.hidden);
      add("norm.weight", s.hidden);
    }
    add("final_norm.weight", s.hidden);
  }
  if (!s.tied_head) add("head.weight", s.vocab * s.hidden);
  return out;
}

std::vector<std::string> t5_problems(const ModelShape& s) {
  std::vector<std::string> found;
  if (s.bias || s.qkv_bias || !s.rms_norm)
    found.emplace_back("bias must be false in family t5, with RMSNorm");
  if (s.kv_heads != s.heads) found.emplace_back("kv_heads must equal heads in family t5");
  if (s.fused_qkv || s.fused_gate_up) {
    found.emplace_back("fused_qkv and fused_gate_up do not go with family t5");
  }
  if (s.rotary || s.positions != 0) {
    found.emplace_back(
        "positions are a bias of the scores in family t5: no rotary or learned ones");
  }
  return found;
}

}  // namespace stepsight
