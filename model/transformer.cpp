#include "model/transformer.h"

#include <algorithm>
#include <stdexcept>

#include "model/convnet.h"
#include "model/latent_attention.h"
#include "model/moe.h"
#include "model/stage_builder.h"
#include "model/t5.h"
#include "model/transformer_xl.h"
#include "model/vit.h"

namespace stepsight {

namespace {

using Cut = StageBuilder::Cut;

double real(std::int64_t value) {
  return static_cast<double>(value);
}

void query_key_value(StageBuilder& b, const ModelShape& s, Dtype input, bool residual) {
  const std::int64_t q = s.heads * s.head_dim;
  const std::int64_t kv = s.kv_heads * s.head_dim;
  const bool bias = s.bias || s.qkv_bias;
  if (s.fused_qkv) {
    b.linear({"qkv", s.hidden, q + 2 * kv, bias, input, 0, residual, Cut::columns});
    return;
  }
  // Backward runs value, key, query: the gradients of the shared input add up as they come, and a
  // post-norm block adds the residual's last.
  b.linear({"query", s.hidden, q, bias, input, 1, residual, Cut::columns, true, false});
  b.linear({"key", s.hidden, kv, bias, input, 1, false, Cut::columns, false, false});
  b.linear({"value", s.hidden, kv, bias, input, 0, false, Cut::columns, false, true});
}

void feed_forward(StageBuilder& b, const ModelShape& s, Dtype input, bool residual) {
  if (!s.gated_ffn) {
    b.linear({"mlp up", s.hidden, s.ffn, s.bias, input, 0, residual, Cut::columns});
    b.gelu(s.ffn);
  } else if (s.fused_gate_up) {
    b.linear({"mlp gate-up", s.hidden, 2 * s.ffn, s.bias, input, 0, residual, Cut::columns});
    b.swiglu();
  } else {
    b.linear({"mlp gate", s.hidden, s.ffn, s.bias, input, 1, residual, Cut::columns, true, false});
    b.linear({"mlp up", s.hidden, s.ffn, s.bias, input, 0, false, Cut::columns, false, true});
    b.swiglu();
  }
  b.linear({"mlp down", s.ffn, s.hidden, s.bias, b.compute(), 0, false, Cut::rows});
}

void self_attention(StageBuilder& b, const ModelShape& s) {
  query_key_value(b, s, b.stream(), false);
  if (s.rotary) b.rotary();
  b.attention();
  b.linear({.label = "attention output",
            .in = s.heads * s.head_dim,
            .out = s.hidden,
            .bias = s.bias,
            .input = b.compute(),
            .cut = Cut::rows});
}

// x + attention(norm(x)), then x + mlp(norm(x)). `dense`: a layer without experts.
void pre_norm_block(StageBuilder& b, const ModelShape& s, bool dense) {
  b.norm("norm", true);
  if (s.kv_rank > 0) {
    latent_attention(b, s);
  } else {
    self_attention(b, s);
  }
  if (s.dropout > 0) b.dropout(s.hidden, b.compute(), true);
  b.residual_add();
  b.norm("norm", true);
  if (dense) {
    feed_forward(b, s, b.stream(), false);
  } else {
    expert_feed_forward(b, s);
  }
  if (s.dropout > 0) b.dropout(s.hidden, b.compute(), true);
  b.residual_add();
}

// norm(x + attention(x)), then norm(x + mlp(x)), as BERT has it.
void post_norm_block(StageBuilder& b, const ModelShape& s) {
  query_key_value(b, s, b.stream(), true);
  b.attention();
  b.linear({.label = "attention output",
            .in = s.heads * s.head_dim,
            .out = s.hidden,
            .bias = s.bias,
            .input = b.compute(),
            .cut = Cut::rows});
  if (s.dropout > 0) b.dropout(s.hidden, b.compute(), true);
  b.residual_add();
  b.norm("norm", false);
  feed_forward(b, s, b.stream(), true);
  if (s.dropout > 0) b.dropout(s.hidden, b.compute(), true);
  b.residual_add();
  b.norm("norm", false);
}

StageWork block(const ModelShape& shape, const Training& training, const Parallel& parallel) {
  StageBuilder b(shape, training, parallel);
  if (shape.family == Family::bert) {
    post_norm_block(b, shape);
  } else if (shape.family == Family::txl) {
    memory_block(b, shape);
  } else {
    pre_norm_block(b, shape, shape.experts == 0);
  }
  return b.finish();
}

// Operators up to the last that backward needs a result of: a product without activation, dropout
// or norm after it keeps its inputs only, and a sum of the residual nothing.
std::size_t needed_again(const StageWork& stage) {
  std::size_t count = stage.forward.size();
  const auto last_is = [&](auto what) { return count > 0 && what(stage.forward[count - 1]); };
  while (last_is([](const Operator& op) { return op.label == "residual add"; })) --count;
  if (last_is([](const Operator& op) { return std::holds_alternative<Gemm>(op.work); })) --count;
  return count;
}

// Backward begins by running the block forward again, messages and all, or as far as backward needs
// it; only its input was kept, and what the block saves lives while its backward runs.
StageWork recomputed(StageWork stage, double input_bytes, bool early_stop) {
  const std::size_t count = early_stop ? needed_again(stage) : stage.forward.size();
  const auto shift = static_cast<std::uint32_t>(count);
  std::vector<Exchange> again = stage.forward_exchanges;
  if (early_stop) std::erase_if(again, [&](const Exchange& e) { return e.before > count; });
  stage.backward.insert(stage.backward.begin(),
                        stage.forward.begin(),
                        stage.forward.begin() + static_cast<std::ptrdiff_t>(count));
  for (GradientReady& r : stage.ready) r.after += shift;
  for (Exchange& e : stage.backward_exchanges) e.before += shift;
  stage.backward_exchanges.insert(stage.backward_exchanges.begin(), again.begin(), again.end());
  stage.peak_bytes += stage.saved_bytes;
  stage.saved_bytes = input_bytes;
  return stage;
}

// Backward begins by computing again what was not kept: passes, messages that gather, and the
// second, fourth, ... product.
StageWork recomputed_operators(StageWork stage) {
  const std::size_t count = needed_again(stage);
  std::vector<Operator> again;
  std::vector<std::uint32_t> place;  // of each operator, or of the next that is computed again
  bool kept_product = false;
  for (std::size_t i = 0; i < count; ++i) {
    const Operator& op = stage.forward[i];
    place.push_back(static_cast<std::uint32_t>(again.size()));
    const bool product = std::holds_alternative<Gemm>(op.work);
    if (product) kept_product = !kept_product;
    if (std::holds_alternative<Attention>(op.work) || (product && kept_product)) continue;
    again.push_back(op);
  }
  std::vector<Exchange> messages;
  for (Exchange e : stage.forward_exchanges) {
    if (e.kind != CollectiveKind::all_gather || e.before >= count) continue;
    e.before = place[e.before];
    messages.push_back(e);
  }
  const auto shift = static_cast<std::uint32_t>(again.size());
  for (GradientReady& r : stage.ready) r.after += shift;
  for (Exchange& e : stage.backward_exchanges) e.before += shift;
  stage.backward.insert(stage.backward.begin(), again.begin(), again.end());
  stage.backward_exchanges.insert(
      stage.backward_exchanges.begin(), messages.begin(), messages.end());
  return stage;
}

// Of the stream between two blocks, of one rank.
double stream_bytes(const ModelShape& shape, const Training& training, const Parallel& parallel) {
  const StageBuilder b(shape, training, parallel);
  return static_cast<double>(b.stream_tokens() * shape.hidden) * info(b.stream()).bytes;
}

StageWork embedding(const ModelShape& shape, const Training& training, const Parallel& parallel) {
  StageBuilder b(shape, training, parallel);
  if (shape.family == Family::vit) {
    patch_embedding(b, shape);
  } else if (shape.family == Family::txl && shape.div_val > 1) {
    adaptive_embedding(b, shape);
  } else {
    b.embedding();
  }
  if (shape.family == Family::txl) shared_position_biases(b, shape);
  if (shape.family == Family::bert) b.norm("embedding norm", false);
  if (shape.dropout > 0) b.dropout(shape.hidden, b.stream());
  for (std::int64_t i = 0; i < shape.dense_layers; ++i) pre_norm_block(b, shape, true);
  return b.finish();
}

// The final norm and the LM head; BERT has a pooler, a masked-language-model head, or both, and
// without the latter is trained as a classifier of sequences.
StageWork head(const ModelShape& shape, const Training& training, const Parallel& parallel) {
  StageBuilder b(shape, training, parallel);
  const bool bert = shape.family == Family::bert;
  if (shape.family == Family::txl) {
    adaptive_softmax(b, shape);
    return b.finish();
  }
  if (!bert) b.norm("final norm", false);
  if (shape.family == Family::vit) {
    image_classifier(b, shape);
    return b.finish();
  }
  if (shape.pooler) b.pooler();
  if (shape.mlm_head) {
    if (shape.mlm_share < 1) b.gather(shape.mlm_share);
    b.linear({"head transform", shape.hidden, shape.hidden, shape.bias, b.stream(), 0});
    b.gelu(shape.hidden, b.stream_tokens());
    b.norm("head norm", false);
  }
  if (!bert || shape.mlm_head) {
    b.linear({.label = "head",
              .in = shape.hidden,
              .out = shape.vocab,
              .bias = shape.mlm_head,
              .input = b.stream(),
              .cut = Cut::columns,
              .weight_gradient_pending = shape.tied_head,
              .fp8 = false});
    b.loss();
  } else {
    b.sequence_loss();
  }
  return b.finish();
}

// An update without fused kernels: a loop over the tensors that clips each gradient, for which the
// host waits for its norm, and then runs
// every arithmetic step of Adam as a kernel over the tensor (as BertAdam and the optimizers before
// torch's foreach and fused ones do): decay and add to both moments, square root, epsilon,
// quotient, weight decay, learning rate, sign, and the sum with the weight.
constexpr std::int64_t unfused_binary_steps = 6;  // two operands and a result
constexpr std::int64_t unfused_unary_steps = 8;   // one operand and a result
constexpr double unfused_launches = 20;           // with the norm's and the clip's small kernels

std::vector<Operator> optimizer_work(const Training& training,
                                     const Precision& held,
                                     std::int64_t tensors,
                                     std::int64_t columns) {
  const Dtype type = optimizer_dtype(held);
  const auto pass = [&](PassKind kind, std::int64_t times = 1) {
    return Operator{Pass{kind, times * tensors, columns, type}, "optimizer"};
  };
  std::vector<Operator> out;
  if (held.master) out.push_back(pass(PassKind::cast_up));  // gradients to fp32
  if (training.optimizer != OptimizerKind::adamw) {
    out.push_back(pass(PassKind::sgd));
    // The momentum is read and written, too.
    if (training.optimizer == OptimizerKind::sgd_momentum) out.push_back(pass(PassKind::copy));
  } else if (training.fused_optimizer) {
    out.push_back(pass(PassKind::adamw));
  } else {
    out.push_back(pass(PassKind::add, unfused_binary_steps));
    out.push_back(pass(PassKind::copy, unfused_unary_steps));
  }
  if (held.master) out.push_back(pass(PassKind::cast_down));  // weights back
  return out;
}

// 2 FLOP a multiply-add of forward, twice that in backward; recomputation does not count.
Flops useful_flops(const StepWork& work) {
  const auto of = [](const std::vector<Operator>& operators) {
    Flops sum;
    for (const Operator& op : operators) {
      if (const auto* gemm = std::get_if<Gemm>(&op.work)) sum += flops(*gemm);
      if (const auto* attention = std::get_if<Attention>(&op.work)) sum += flops(*attention);
      if (const auto* c = std::get_if<Convolution>(&op.work)) sum += flops(*c);
    }
    return sum;
  };
  const double blocks = static_cast<double>(work.blocks);
  return 3.0 *
         (of(work.embedding.forward) + blocks * of(work.block.forward) + of(work.head.forward));
}

ModelStages stages_of(const ModelShape& shape, const Training& asked, const Parallel& parallel) {
  Training training = asked;
  if (shape.family == Family::vit) training.seq = image_tokens(shape);
  if (shape.family == Family::resnet) return convnet_stages(shape, training);
  if (shape.family == Family::t5) return t5_stages(shape, training, parallel);
  return {embedding(shape, training, parallel),
          block(shape, training, parallel),
          head(shape, training, parallel),
          shape.layers - shape.dense_layers};
}

struct Held {
  Precision precision;             // what parameters and optimizer states are held in
  std::int64_t shards = 1;         // ranks that share the optimizer's states, each its share
  std::int64_t expert_shards = 1;  // likewise of experts that ranks share out
};

StepWork build(const ModelShape& whole,
               const Training& training,
               const Parallel& parallel,
               const Held& held) {
  if (training.seq <= 0 || training.batch <= 0) {
    throw std::logic_error("step_work: batch and sequence length must be positive");
  }
  const ModelShape shape = rank_shape(whole, parallel);
  StepWork work;
  ModelStages stages = stages_of(shape, training, parallel);
  work.embedding = std::move(stages.embedding);
  work.block = std::move(stages.block);
  work.head = std::move(stages.head);
  work.blocks = stages.blocks;
  if (training.recompute == Recompute::full) {
    if (training.recompute_layers > 0 && training.recompute_layers < work.blocks) {
      work.kept_block = work.block;
      work.kept_blocks = work.blocks - training.recompute_layers;
    }
    const double input = shape.family == Family::resnet ? convnet_block_input(shape, training)
                                                        : stream_bytes(shape, training, parallel);
    work.block = recomputed(std::move(work.block), input, training.recompute_early_stop);
  }
  if (training.recompute == Recompute::operators)
    work.block = recomputed_operators(std::move(work.block));
  const double blocks = real(work.blocks);
  work.parameters = static_cast<std::int64_t>(gradient_elements(work.embedding) +
                                              blocks * gradient_elements(work.block) +
                                              gradient_elements(work.head));
  work.tensors = static_cast<std::int64_t>(work.embedding.ready.size() + work.head.ready.size()) +
                 work.blocks * static_cast<std::int64_t>(work.block.ready.size());
  work.tokens = static_cast<double>(training.batch) * static_cast<double>(training.seq);
  work.model_flops = useful_flops(work);
  const double of_experts = expert_elements(work);
  const double updated = (static_cast<double>(work.parameters) - of_experts) / real(held.shards) +
                         of_experts / real(held.expert_shards);
  const std::int64_t columns =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(updated) / work.tensors);
  work.optimizer = optimizer_work(training, held.precision, work.tensors, columns);
  work.optimizer_waits = !training.fused_optimizer;
  if (!training.fused_optimizer) work.optimizer_launches = unfused_launches;
  return work;
}

}  // namespace

double expert_elements(const StageWork& stage) {
  double sum = 0;
  for (const GradientReady& r : stage.ready) sum += r.experts ? static_cast<double>(r.elements) : 0;
  return sum;
}

double expert_elements(const StepWork& work) {
  return expert_elements(work.embedding) + real(work.blocks) * expert_elements(work.block) +
         expert_elements(work.head);
}

double gradient_elements(const StageWork& stage) {
  double sum = 0;
  for (const GradientReady& r : stage.ready) sum += static_cast<double>(r.elements);
  return sum;
}

Dtype parameter_dtype(const Precision& precision) {
  return precision.mixed ? Dtype::fp32 : precision.compute;
}

Dtype optimizer_dtype(const Precision& precision) {
  return precision.master ? Dtype::fp32 : parameter_dtype(precision);
}

double gradient_bytes(const Training& training) {
  return info(training.gradient_dtype.value_or(parameter_dtype(training.precision))).bytes;
}

double partial_elements(const StepWork& work) {
  const auto of = [](const StageWork& stage) {
    double sum = 0;
    for (const GradientReady& r : stage.ready) {
      if (r.partial) sum += static_cast<double>(r.elements);
    }
    return sum;
  };
  return of(work.embedding) + static_cast<double>(work.blocks) * of(work.block) + of(work.head);
}

StepWork step_work(const ModelShape& shape, const Training& training) {
  return build(shape, training, Parallel{}, {training.precision});
}

StepWork step_work(const Scenario& scenario) {
  const Parallel& parallel = scenario.parallel;
  Training training = scenario.training;
  if (shards_parameters(parallel.strategy)) training.precision.mixed = false;
  StepWork work = build(scenario.model,
                        training,
                        parallel,
                        {scenario.training.precision,
                         axis_size(scenario, Axis::shard),
                         axis_size(scenario, Axis::expert_shard)});
  const std::int64_t ranks = parallel.tensor * parallel.context;
  if (ranks > 1 || parallel.expert > 1) {
    work.model_flops = step_work(scenario.model, training).model_flops / static_cast<double>(ranks);
  }
  return work;
}

}  // namespace stepsight
