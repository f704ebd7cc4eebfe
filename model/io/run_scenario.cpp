#include "model/io/run_scenario.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "model/io/model_file.h"
#include "model/io/run_mixture.h"
#include "model/io/run_network.h"
#include "model/scenario_rules.h"
#include "model/usual_link.h"

namespace stepsight {

namespace {

using Answer = std::variant<Scenario, Refusal>;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::optional<Family> family_of(const std::string& word) {
  if (word == "gpt") return Family::gpt;
  if (word == "llama" || word == "moe") return Family::llama;
  if (word == "bert") return Family::bert;
  if (word == "resnet") return Family::resnet;
  if (word == "txl") return Family::txl;
  return std::nullopt;
}

// What has to be there, in the order in which a person would ask for it.
std::optional<std::string> missing_field(const MeasuredRun& r) {
  if (r.std_family == "resnet") {
    if (!r.micro_batch) return "no micro-batch";
    if (!r.gpus) return "no number of GPUs";
    return std::nullopt;
  }
  const std::pair<const std::optional<std::int64_t>*, const char*> needed[] = {
      {&r.layers, "layers"},
      {&r.hidden, "hidden"},
      {&r.heads, "heads"},
      {&r.vocab, "vocab"},
      {&r.seq, "sequence length"},
      {&r.micro_batch, "micro-batch"},
      {&r.gpus, "number of GPUs"}};
  for (const auto& [field, name] : needed) {
    if (!field->has_value()) return std::string("no ") + name;
  }
  return std::nullopt;
}

std::optional<Strategy> strategy_of(const MeasuredRun& r) {
  if (r.std_dp.empty()) return Strategy::ddp;
  if (r.std_dp == "hsdp") return Strategy::fsdp;
  const auto* const at = std::ranges::find(strategy_names, r.std_dp);
  if (at == strategy_names.end()) return std::nullopt;
  return static_cast<Strategy>(at - strategy_names.begin());
}

std::optional<Offload> offload_of(const MeasuredRun& r) {
  const auto* const at = std::ranges::find(offload_names, r.std_offload);
  if (at == offload_names.end()) return std::nullopt;
  return static_cast<Offload>(at - offload_names.begin());
}

// What stepsight does not simulate yet.
std::optional<std::string> unsupported(const MeasuredRun& r) {
  if (!family_of(r.std_family))
    return "family " + (r.std_family.empty() ? "not stated" : r.std_family);
  if (r.nodes.value_or(1) > 1 && !r.std_inter_gbps_per_node) return "network not stated";
  if (r.gpus.value_or(1) % r.nodes.value_or(1) != 0) return "uneven nodes";
  if (!strategy_of(r)) return "sharding " + r.std_dp;
  if (!r.std_offload.empty() && r.std_offload != "no" && !offload_of(r))
    return "offload " + r.std_offload;
  if (!r.std_recompute.empty() &&
      std::ranges::find(recompute_names, r.std_recompute) == recompute_names.end()) {
    return "recompute " + r.std_recompute;
  }
  if (!parse_dtype(r.std_compute))
    return "compute " + (r.std_compute.empty() ? "not stated" : r.std_compute);
  return std::nullopt;
}

// Which heads an encoder has shows in its number of parameters: a masked-language-model head, the
// pooler that feeds a classifier or next-sentence head, both (the original pre-training task, which
// gathers the masked 15 % of the tokens before the head; Devlin et al. 2019), or neither. The
// classifiers themselves have a few thousand parameters.
void set_heads(ModelShape& s, std::int64_t parameters) {
  std::int64_t closest = std::numeric_limits<std::int64_t>::max();
  ModelShape best = s;
  for (const bool pooler : {false, true}) {
    for (const bool mlm : {true, false}) {
      s.pooler = pooler;
      s.mlm_head = mlm;
      s.tied_head = true;
      const std::int64_t off = std::abs(parameter_count(s) - parameters);
      if (off < closest) best = s;
      closest = std::min(closest, off);
    }
  }
  s = best;
  if (s.mlm_head && s.pooler) s.mlm_share = 0.15;
}

// Tokens a pre-training sequence takes on average. Documents end before the longest length: of
// Wikipedia cut to 512 tokens half is text, cut to 128 tokens five sixths (Krell et al. 2021,
// Efficient sequence packing without cross-contamination, section 2; along a line in between).
// Today's loaders group sequences of like length and pad them to the end of a bin of 64 tokens:
// half a bin.
std::int64_t padded_length(std::int64_t longest) {
  const auto most = static_cast<double>(longest);
  const double text = std::clamp(0.83 - 0.165 * std::log2(most / 128), 0.5, 1.0) * most;
  constexpr double half_bin = 32;
  return std::llround(std::min(most, text + half_bin));
}

// The number that follows a word in a text: 50 of "resnet50", 224 of "224x224 images" after "". 0
// where there is none.
std::int64_t number_after(const std::string& text, std::string_view word) {
  std::size_t at = text.find(word);
  if (at == std::string::npos) return 0;
  at = text.find_first_of("0123456789", at + word.size());
  if (at == std::string::npos) return 0;
  const long value = std::strtol(text.c_str() + at, nullptr, 10);
  return value > 0 && value < 1000000 ? value : 0;
}

// The row names the net and, in its notes, the images' size: "224x224 images".
ModelShape convnet_of(const MeasuredRun& r) {
  ModelShape s = family_defaults(Family::resnet);
  s.name = r.model;
  s.layers = number_after(r.model, "resnet");
  const std::size_t at = r.notes.find(" images");
  const std::size_t word = r.notes.rfind(' ', at == 0 ? 0 : at - 1);
  if (at != std::string::npos && at > 0) {
    const std::size_t start = word == std::string::npos ? 0 : word + 1;
    const std::int64_t size = number_after(r.notes.substr(start, at - start), "");
    if (size > 0) s.image = size;
  }
  return s;
}

// Stacks that split layers over GPUs. Megatron-LM and its relatives name themselves, or their
// kernel for scale, mask and softmax.
bool uses_megatron(const MeasuredRun& r) {
  return contains(r.family, "Megatron") || contains(r.sharding, "Megatron") ||
         contains(r.source, "Megatron") || contains(r.measured_how, "Megatron") ||
         contains(r.attention, "fused softmax");
}

// torchtitan's policy, which goes with its Llama.
bool recomputes_operators(const MeasuredRun& r) {
  return contains(r.recompute, "per-op SAC");
}

// "no (fused kernels)": not compiled, but with kernels of the trainer's own.
bool brings_fused_kernels(const MeasuredRun& r) {
  return contains(r.compile, "fused kernels");
}

// Whether word vectors narrow: what brings the parameters closest to those of the row; where it
// gives none, as the shipped model of these sizes has it, with its dropout.
void narrow_vectors(ModelShape& s, std::optional<std::int64_t> parameters) {
  if (parameters) {
    const auto off = [&](std::int64_t div_val) {
      s.div_val = div_val;
      return problems(s).empty() ? std::abs(parameter_count(s) - *parameters)
                                 : std::numeric_limits<std::int64_t>::max();
    };
    constexpr std::array<std::int64_t, 3> usual{1, 2, 4};
    s.div_val = *std::ranges::min_element(usual, {}, off);
    return;
  }
  for (const char* name : {"txl-base", "txl-large"}) {
    const ModelShape known = read_model(name);
    if (known.layers != s.layers || known.hidden != s.hidden || known.heads != s.heads ||
        known.ffn != s.ffn || known.vocab != s.vocab) {
      continue;
    }
    s.div_val = known.div_val;
    s.dropout = known.dropout;
    s.attention_dropout = known.attention_dropout;
  }
}

ModelShape shape_of(const MeasuredRun& r, Family family) {
  if (family == Family::resnet) return convnet_of(r);
  ModelShape s = family == Family::txl ? family_defaults(family) : ModelShape{};
  s.name = r.model;
  s.family = family;
  s.layers = *r.layers;
  s.hidden = *r.hidden;
  s.heads = *r.heads;
  s.kv_heads = r.kv_heads.value_or(s.heads);
  s.head_dim = s.heads > 0 ? s.hidden / s.heads : 0;
  s.ffn = r.ffn.value_or(4 * s.hidden);
  s.vocab = *r.vocab;
  s.bias = family != Family::llama;
  s.fused_qkv = family != Family::bert;
  switch (family) {
    case Family::gpt:
      s.positions = *r.seq;
      // Megatron-LM drops a tenth of the hidden states and of the attention's weights unless told
      // otherwise (arguments.py, hidden_dropout and attention_dropout).
      if (uses_megatron(r)) s.dropout = 0.1;
      break;
    case Family::llama:
      s.gated_ffn = s.rms_norm = true;
      // Said of the row, or so with torchtitan's recompute of single operators, whose Llama has
      // them.
      s.fused_gate_up = !contains(r.family, "projections apart") && !recomputes_operators(r);
      s.fused_qkv = s.fused_gate_up;
      s.rotary = !contains(r.family, "no RoPE");
      break;
    case Family::bert:
      s.positions = 512;
      s.token_types = 2;
      s.mlm_head = true;
      s.dropout = 0.1;
      if (r.params) set_heads(s, *r.params);
      break;
    case Family::txl:
      // "mem_len 192", "tgt_len=mem_len=192".
      s.memory = contains(r.notes, "mem_len") ? number_after(r.notes, "mem_len") : *r.seq;
      narrow_vectors(s, r.params);
      return s;
    case Family::resnet:
    case Family::vit:
    case Family::t5:
      break;
  }
  s.tied_head = family != Family::llama;
  if (r.params && family != Family::bert) {
    const auto off = [&](bool tied) {
      s.tied_head = tied;
      return std::abs(parameter_count(s) - *r.params);
    };
    s.tied_head = off(true) < off(false);
  }
  return s;
}

// The release of PyTorch that a row names ("PyTorch 2.4.1+cu121"): 2.4; 0 where it does not.
double torch_release(const MeasuredRun& r) {
  const std::size_t at = r.measured_how.find("PyTorch 2.");
  return at == std::string::npos
             ? 0
             : 2 + 0.01 * static_cast<double>(number_after(r.measured_how.substr(at), "2."));
}

// torch's own flash attention was FlashAttention-2 from its release 2.2 (January 2024) on,
// through 2.9.
bool second_generation_in_torch(const MeasuredRun& r) {
  const double release = torch_release(r);
  const bool then = (release > 2.015 && release < 2.095) || contains(r.source, "_2024");
  return contains(r.attention, "SDPA") && then;
}

// Runs with a later generation say so ("flash 2", "flash 3", "SDPA/flash"); a bare "flash" is the
// first, which ran on the cards of its time.
AttentionKernel kernel_of(const MeasuredRun& r) {
  const bool ampere = r.std_gpu.starts_with("a100") || r.std_gpu.starts_with("a800");
  if (r.attention == "flash" && ampere) return AttentionKernel::flash1;
  if (contains(r.attention, "flash 2") || second_generation_in_torch(r))
    return AttentionKernel::flash2;
  if (contains(r.attention, "flash 3")) return AttentionKernel::flash3;
  return AttentionKernel::usual;
}

Training training_of(const MeasuredRun& r, Family family) {
  Training t;
  t.batch = *r.micro_batch;
  t.seq = family == Family::resnet ? 1 : *r.seq;
  if (family == Family::resnet) t.optimizer = OptimizerKind::sgd_momentum;
  t.accumulation = r.grad_accum.value_or(1);
  t.precision.compute = *parse_dtype(r.std_compute);
  // fp8 is what linear layers multiply in, bf16 what is around them.
  t.fp8 = t.precision.compute == Dtype::fp8;
  if (t.fp8) t.precision.compute = Dtype::bf16;
  const bool narrow = info(t.precision.compute).bytes < 4;
  // Apex O2, what its users call mixed, and the stacks that split layers over GPUs hold 16-bit
  // weights beside an fp32 copy; autocast does not.
  const bool autocast = contains(r.precision, "autocast");
  t.precision.master = narrow && !autocast &&
                       (contains(r.precision, "apex") || contains(r.precision, "mixed") ||
                        uses_megatron(r) || r.tp.value_or(1) > 1 ||
                        // CPU-Adam works on fp32 copies.
                        updates_on_host(offload_of(r).value_or(Offload::none)));
  t.precision.mixed = narrow && (autocast || (contains(r.precision, "amp") && !t.precision.master));
  // Sharded parameters stay in fp32 and are cast as they are gathered.
  if (narrow && r.std_dp == "fsdp") t.precision = {t.precision.compute, true, false};
  // Megatron-LM sums bf16's gradients over micro-batches and ranks in fp32 (arguments.py,
  // accumulate_allreduce_grads_in_fp32), and so does DeepSpeed's bf16 optimizer.
  const bool wide_sums =
      uses_megatron(r) && t.precision.compute == Dtype::bf16 && !r.std_grad_bytes;
  if ((r.std_grad_bytes == 4 || wide_sums) && narrow && !t.precision.mixed) {
    t.gradient_dtype = Dtype::fp32;
  }
  if (r.std_grad_bytes == 2 && t.precision.mixed) t.gradient_dtype = t.precision.compute;
  t.recompute = r.std_recompute == "full"        ? Recompute::full
                : recomputes_operators(r)        ? Recompute::operators
                : r.std_recompute == "selective" ? Recompute::selective
                                                 : Recompute::none;
  t.fused_kernels = uses_megatron(r) || brings_fused_kernels(r);
  // DeepSpeed's engine under Megatron-LM's layers: its own sums.
  const bool deepspeed = contains(r.sharding, "DeepSpeed");
  t.fused_accumulation = !deepspeed;
  t.precision.wide_sums = deepspeed && t.precision.master && t.precision.compute == Dtype::bf16;
  // FSDP is wrapped around torch's own checkpoint; the stacks that split layers over GPUs,
  // DeepSpeed and their relatives have checkpoints that run the whole block. torch's stops early
  // from its release 2.1 (October 2023) on, after the time of the first FlashAttention.
  t.attention_kernel = kernel_of(r);
  t.recompute_early_stop =
      (r.std_dp == "fsdp" || r.std_dp == "hsdp") && t.attention_kernel != AttentionKernel::flash1;
  t.compile = r.std_compile == "yes";
  t.flash_attention = r.std_flash != "no" || family == Family::llama;
  // Stacks from before fused attention had no fused optimizer either, but for apex, which brings
  // one for its fp32 copies.
  t.fused_optimizer = t.flash_attention || narrow || contains(r.family, "LAMB");
  // Transformer-XL comes with a LAMB that is compiled into few kernels; torch's Adam of its time
  // was not.
  if (family == Family::txl) t.fused_optimizer = !contains(r.notes, "optimizer adam");
  return t;
}

// The number behind `key` in prose ("DDP, bucket_cap_mb=25"), where it is a possible size of a
// bucket.
void read_bucket(const std::string& text, std::string_view key, double& into_MB) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return;
  const double value = std::strtod(text.c_str() + at + key.size(), nullptr);
  if (value > 0 && value < 1e6) into_MB = value;
}

// "DDP wrapper, 1 rank, bucket_cap_mb=25": the wrapper works with one rank, too. The first bucket
// has a cap of its own unless PyTorch was given one for all (`bucket_cap_mb=5, first_bucket_mb=5`).
void parallel_of(const MeasuredRun& r, Scenario& s) {
  Parallel& p = s.parallel;
  p.strategy = *strategy_of(r);
  // DeepSpeed's buckets are 5e8 elements.
  if (p.strategy == Strategy::zero1 || p.strategy == Strategy::zero2) {
    p.bucket_cap_MB = p.first_bucket_MB = 1e9 / (1024.0 * 1024.0);
  }
  read_bucket(r.sharding, "bucket_cap_mb=", p.bucket_cap_MB);
  read_bucket(r.sharding, "first_bucket_mb=", p.first_bucket_MB);
  // "ZeRO-1 over 8 GPUs (within node)": the states are shared out among fewer than all ranks.
  double over = 0;
  read_bucket(r.sharding, " over ", over);
  if (shards_optimizer(p.strategy) && over >= 1 && over < static_cast<double>(r.dp.value_or(0))) {
    p.shard_group = static_cast<std::int64_t>(over);
  }
  // Hybrid: shards within a machine, replicas between them.
  if (r.std_dp == "hsdp") p.shard_group = *r.gpus / r.nodes.value_or(1);
  // Encoders' stacks from before fused attention sum their gradients after backward: what a card
  // adds to their step is the message over the link's bandwidth, at every batch and in every
  // format.
  const bool after_backward = r.std_family == "bert" && r.std_flash == "no";
  // So does Megatron-LM unless asked otherwise.
  const bool asked = contains(r.sharding, "overlap grad");
  const bool overlap = !after_backward && (!uses_megatron(r) || asked);
  p.overlap = r.std_overlap.empty() ? overlap : r.std_overlap != "no";
  p.tensor = r.tp.value_or(1);
  p.pipeline = r.pp.value_or(1);
  p.chunks = p.pipeline > 1 ? r.vpp.value_or(1) : 1;
  if (p.chunks > 1) p.schedule = PipelineSchedule::interleaved;
  p.context = r.cp.value_or(1);
  // Transformer Engine also swaps tokens for heads.
  if (contains(r.notes, "CP is all-to-all")) p.context_mode = ContextMode::all_to_all;
  p.expert = r.ep.value_or(1);
  p.offload = offload_of(r).value_or(Offload::none);
  p.sequence = contains(r.recompute, "sequence parallel") ||
               contains(r.notes, "sequence parallel") || contains(r.sharding, "sequence parallel");
  // Megatron-LM sums an input's gradient beside its weight's from 2022 on; the layers that
  // DeepSpeed's engine runs are of 2021 (bigscience-workshop/Megatron-DeepSpeed, mpu/layers.py).
  p.overlap_tensor =
      !contains(r.notes, "all overlap switched off") && !contains(r.sharding, "DeepSpeed");
  s.cluster.gpu = r.std_gpu;
  s.cluster.gpus = *r.gpus;
  s.cluster.nodes = r.nodes.value_or(1);
  const double network = s.cluster.nodes > 1 ? r.std_inter_gbps_per_node.value_or(0) : 0;
  const RunNetwork between = network_of(r.network);
  s.cluster.link = usual_link(r.std_gpu, r.std_intra, network, between.adapters, between.kind);
  if (s.cluster.gpus == 1 && s.cluster.link.empty() && contains(r.sharding, "DDP wrapper")) {
    s.cluster.link = "loopback:0";
  }
}

}  // namespace

Answer scenario_of(const MeasuredRun& run) {
  if (!run.is_complete()) return Refusal{"incomplete"};
  if (run.std_gpu.empty()) return Refusal{"GPU not stated"};
  if (const auto why = unsupported(run)) return Refusal{*why};
  if (const auto why = missing_field(run)) return Refusal{*why};
  const Family family = *family_of(run.std_family);
  Scenario s;
  s.title = run.id;
  if (run.std_family == "moe") {
    const auto mixture = mixture_of(run);
    if (!mixture) return Refusal{"mixture not known"};
    s.model = *mixture;
  } else {
    s.model = shape_of(run, family);
  }
  if (!problems(s.model).empty()) return Refusal{"impossible model: " + problems(s.model).front()};
  s.training = training_of(run, family);
  if (s.model.mlm_share < 1) s.training.seq = padded_length(s.training.seq);
  parallel_of(run, s);
  // Megatron-LM pads the vocabulary to whole tiles on each rank, also where it divides as it is.
  if (s.model.vocab % s.parallel.tensor != 0 || uses_megatron(run)) {
    const std::int64_t step = 128 * s.parallel.tensor;
    s.model.vocab = (s.model.vocab + step - 1) / step * step;
  }
  // A trainer that comes with kernels of its own pads it to whole vectors (flash-attention's
  // training configurations, pad_vocab_size_multiple).
  if (brings_fused_kernels(run)) s.model.vocab = (s.model.vocab + 7) / 8 * 8;
  if (s.cluster.gpus > 1 && s.cluster.link.empty()) return Refusal{"link not stated"};
  for (const RuleViolation& broken : violations(s)) {
    if (broken.section == "parallel") return Refusal{"impossible split: " + broken.message};
  }
  return s;
}

}  // namespace stepsight
