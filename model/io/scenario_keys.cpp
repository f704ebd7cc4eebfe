#include "model/io/scenario_keys.h"

#include <array>
#include <type_traits>

#include <fmt/format.h>

namespace stepsight {
namespace {

constexpr std::array<std::string_view, 3> gradient_names{"fp32", "fp16", "bf16"};

constexpr auto precision_names = [] {
  std::array<std::string_view, precisions.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = precisions[i].name;
  return names;
}();

// Sets one field of one part of the scenario: the setting's alternative is the field's type.
template <auto Part, auto Field>
void assign(Scenario& scenario, const Setting& value) {
  auto& field = scenario.*Part.*Field;
  field = std::get<std::remove_reference_t<decltype(field)>>(value);
}

// Position of a word that read_setting has found in `words`.
template <typename Words>
std::size_t index_of(const Words& words, const Setting& value) {
  const auto& word = std::get<std::string>(value);
  std::size_t i = 0;
  while (words[i] != word) ++i;
  return i;
}

void set_family(Scenario& s, const Setting& v) {
  s.model.family = static_cast<Family>(index_of(family_names, v));
}
void set_precision(Scenario& s, const Setting& v) {
  s.training.precision = precisions[index_of(precision_names, v)].precision;
}
void set_gradient(Scenario& s, const Setting& v) {
  s.training.gradient_dtype = parse_dtype(std::get<std::string>(v));
}
void set_optimizer(Scenario& s, const Setting& v) {
  s.training.optimizer = static_cast<OptimizerKind>(index_of(optimizer_names, v));
}
void set_recompute(Scenario& s, const Setting& v) {
  s.training.recompute = static_cast<Recompute>(index_of(recompute_names, v));
}
void set_context_mode(Scenario& s, const Setting& v) {
  s.parallel.context_mode = static_cast<ContextMode>(index_of(context_mode_names, v));
}
void set_attention_kernel(Scenario& s, const Setting& v) {
  s.training.attention_kernel = static_cast<AttentionKernel>(index_of(attention_kernel_names, v));
}
void set_schedule(Scenario& s, const Setting& v) {
  s.parallel.schedule = static_cast<PipelineSchedule>(index_of(schedule_names, v));
}
void set_offload(Scenario& s, const Setting& v) {
  s.parallel.offload = static_cast<Offload>(index_of(offload_names, v));
}
void set_price_list(Scenario& s, const Setting& v) {
  s.cost.list = std::get<std::string>(v);
}
void set_currency(Scenario& s, const Setting& v) {
  s.cost.currency = std::get<std::string>(v);
}
void set_strategy(Scenario& s, const Setting& v) {
  s.parallel.strategy = static_cast<Strategy>(index_of(strategy_names, v));
}

template <auto Field>
constexpr auto model = &assign<&Scenario::model, Field>;
template <auto Field>
constexpr auto training = &assign<&Scenario::training, Field>;
template <auto Field>
constexpr auto cluster = &assign<&Scenario::cluster, Field>;
template <auto Field>
constexpr auto parallel = &assign<&Scenario::parallel, Field>;
template <auto Field>
constexpr auto irregular = &assign<&Scenario::irregular, Field>;
template <auto Field>
constexpr auto run_length = &assign<&Scenario::run, Field>;

// A figure that may be absent.
template <auto Part, auto Field>
void assign_figure(Scenario& scenario, const Setting& value) {
  scenario.*Part.*Field = std::get<double>(value);
}
template <auto Field>
constexpr auto cost = &assign_figure<&Scenario::cost, Field>;
template <auto Field>
constexpr auto plan_key = &assign<&Scenario::limits, Field>;
template <auto Field>
constexpr auto limits = &assign_figure<&Scenario::limits, Field>;

using M = ModelShape;
using T = Training;
using C = Cluster;
using P = Parallel;
using I = Irregular;
using R = RunLength;
using L = PlanLimits;
constexpr KeyKind integer = KeyKind::integer;
constexpr KeyKind number = KeyKind::number;
constexpr KeyKind boolean = KeyKind::boolean;
constexpr KeyKind word = KeyKind::word;
constexpr KeyKind text = KeyKind::text;

// The bounds are sanity, ten to a thousand times what exists; what a combination allows is said by
// model/scenario_rules.h.
constexpr auto keys = std::to_array<ScenarioKey>({
    // clang-format off
    {"model", "name", text, 0, 0, {}, nullptr, "-",
     "a built-in model (`stepsight show models`) or the path of a model file"},
    {"model", "config", text, 0, 0, {}, nullptr, "-",
     "path of a Hugging Face config.json, from the folder of the scenario file"},
    {"model", "family", word, 0, 0, family_names, set_family, "-",
     "the kind of block; needed without `name` and `config`"},
    {"model", "layers", integer, 1, 1e4, {}, model<&M::layers>, "needed with `family`",
     "number of blocks; of a resnet 18, 34, 50, 101 or 152"},
    {"model", "hidden", integer, 1, 1e6, {}, model<&M::hidden>, "needed with `family`",
     "width of the residual stream"},
    {"model", "heads", integer, 1, 1e5, {}, model<&M::heads>, "needed with `family`",
     "attention heads"},
    {"model", "kv_heads", integer, 1, 1e5, {}, model<&M::kv_heads>, "`heads`",
     "key and value heads (grouped-query attention); they divide `heads`"},
    {"model", "head_dim", integer, 1, 1e5, {}, model<&M::head_dim>, "`hidden / heads`",
     "width of one head"},
    {"model", "ffn", integer, 1, 1e7, {}, model<&M::ffn>, "`4 hidden` (gpt, bert), needed (llama)",
     "width of the feed-forward layer"},
    {"model", "vocab", integer, 1, 1e8, {}, model<&M::vocab>, "needed with `family`",
     "rows of the embedding, padding included; classes of an image model"},
    {"model", "positions", integer, 0, 1e8, {}, model<&M::positions>,
     "`max_seq` (gpt, bert), 0 (llama)", "learned position embeddings; 0 for none"},
    {"model", "token_types", integer, 0, 1e6, {}, model<&M::token_types>, "2 (bert), else 0",
     "segment embeddings"},
    {"model", "max_seq", integer, 0, 1e9, {}, model<&M::max_seq>, "`positions`",
     "longest sequence the model takes; 0 for no limit"},
    {"model", "tied_head", boolean, 0, 0, {}, model<&M::tied_head>, "true (gpt, bert)",
     "the output head shares the embedding's tensor"},
    {"model", "bias", boolean, 0, 0, {}, model<&M::bias>, "true (gpt, bert)",
     "biases on every linear layer and norm"},
    {"model", "qkv_bias", boolean, 0, 0, {}, model<&M::qkv_bias>, "false",
     "biases on query, key and value only"},
    {"model", "gated_ffn", boolean, 0, 0, {}, model<&M::gated_ffn>, "true (llama)",
     "SwiGLU: a gate beside the up projection"},
    {"model", "rms_norm", boolean, 0, 0, {}, model<&M::rms_norm>, "true (llama)",
     "RMSNorm instead of LayerNorm"},
    {"model", "rotary", boolean, 0, 0, {}, model<&M::rotary>, "true (llama)",
     "rotary position embedding on query and key"},
    {"model", "fused_qkv", boolean, 0, 0, {}, model<&M::fused_qkv>, "true (gpt)",
     "one matrix for query, key and value"},
    {"model", "fused_gate_up", boolean, 0, 0, {}, model<&M::fused_gate_up>, "false",
     "one matrix for gate and up"},
    {"model", "mlm_head", boolean, 0, 0, {}, model<&M::mlm_head>, "true (bert)",
     "BERT's masked-language-model head on every token"},
    {"model", "mlm_share", number, 0.001, 1, {}, model<&M::mlm_share>, "1",
     "share of the tokens that are gathered for that head; 0.15 in the original pre-training"},
    {"model", "pooler", boolean, 0, 0, {}, model<&M::pooler>, "false",
     "BERT's dense layer on the first token"},
    {"model", "dropout", number, 0, 0.99, {}, model<&M::dropout>, "0",
     "probability; above 0 the dropout passes are counted"},
    {"model", "image", integer, 1, 1e5, {}, model<&M::image>, "224 (resnet, vit)",
     "pixels a side of an image"},
    {"model", "experts", integer, 0, 1e5, {}, model<&M::experts>, "0",
     "experts of a mixture, in place of each feed-forward layer"},
    {"model", "experts_per_token", integer, 0, 1e5, {}, model<&M::experts_per_token>, "0",
     "experts that a token visits"},
    {"model", "shared_experts", integer, 0, 1e5, {}, model<&M::shared_experts>, "0",
     "experts that every token visits, beside those"},
    {"model", "expert_ffn", integer, 0, 1e7, {}, model<&M::expert_ffn>, "0", "width of one expert"},
    {"model", "dense_layers", integer, 0, 1e4, {}, model<&M::dense_layers>, "0",
     "first layers without experts, of width `ffn`"},
    {"model", "capacity_factor", number, 1, 1000, {}, model<&M::capacity_factor>, "1",
     "rows that each expert works through, over an even share of the tokens"},
    {"model", "q_rank", integer, 0, 1e6, {}, model<&M::q_rank>, "0",
     "latent attention: width that queries come through; 0 for none"},
    {"model", "kv_rank", integer, 0, 1e6, {}, model<&M::kv_rank>, "0",
     "latent attention: width that keys and values come through; 0 for usual attention"},
    {"model", "rope_dim", integer, 0, 1e5, {}, model<&M::rope_dim>, "0",
     "latent attention: rotary columns of a head, beside `head_dim`"},
    {"model", "v_dim", integer, 0, 1e5, {}, model<&M::v_dim>, "0",
     "latent attention: columns of a head's value"},
    {"model", "patch", integer, 1, 1e5, {}, model<&M::patch>, "16 (vit)",
     "pixels a side of a patch, which becomes a token"},
    {"model", "memory", integer, 0, 1e7, {}, model<&M::memory>, "192 (txl)",
     "tokens of earlier segments that attention sees, too"},
    {"model", "cutoff_1", integer, 1, 1e8, {}, model<&M::cutoff_1>, "19997 (txl)",
     "words in the adaptive softmax's head, the most frequent ones"},
    {"model", "cutoff_2", integer, 1, 1e8, {}, model<&M::cutoff_2>, "39997 (txl)",
     "rank of the word at which its second cluster begins"},
    {"model", "cutoff_3", integer, 1, 1e8, {}, model<&M::cutoff_3>, "199997 (txl)",
     "rank of the word at which its third cluster begins"},
    {"model", "div_val", integer, 1, 1024, {}, model<&M::div_val>, "1 (txl)",
     "how much narrower each cluster's word vectors are than those of the words before it"},
    {"model", "attention_dropout", number, 0, 0.99, {}, model<&M::attention_dropout>, "0 (txl)",
     "probability for attention's weights; other families take `dropout`"},

    {"training", "batch", integer, 1, 1e6, {}, training<&T::batch>, "1",
     "sequences of each GPU in one micro-step (weak scaling)"},
    {"training", "global_batch", integer, 1, 1e9, {}, training<&T::global_batch>, "-",
     "instead of `batch`: sequences of a step over all GPUs (strong scaling)"},
    {"training", "seq", integer, 1, 1e9, {}, training<&T::seq>, "the model's longest",
     "tokens of a sequence; images have none, whatever is said"},
    {"training", "target_seq", integer, 0, 1e9, {}, training<&T::target_seq>, "0: as `seq`",
     "tokens of a target sequence of an encoder-decoder (t5)"},
    {"training", "accumulation", integer, 1, 1e6, {}, training<&T::accumulation>, "1",
     "micro-steps between two optimizer steps"},
    {"training", "precision", word, 0, 0, precision_names, set_precision, "bf16",
     "what is computed in; `amp-` keeps parameters and gradients in fp32 (autocast), `master-` an fp32 "
     "copy in the optimizer; `summed-` also adds gradients up in fp32 by passes of their own and "
     "all-reduces the sums (DeepSpeed's bf16 optimizer)"},
    {"training", "gradient_dtype", word, 0, 0, gradient_names, set_gradient, "as the parameters",
     "number format of the gradients on the link"},
    {"training", "optimizer", word, 0, 0, optimizer_names, set_optimizer, "adamw",
     "the update; decides the optimizer's memory and time"},
    {"training", "fused_optimizer", boolean, 0, 0, {}, training<&T::fused_optimizer>, "true",
     "false: AdamW as a kernel for each arithmetic step and tensor"},
    {"training", "recompute", word, 0, 0, recompute_names, set_recompute, "none",
     "activation checkpointing: of the attention's scores, of whole blocks, or of all but the attention and "
     "every other product (torchtitan)"},
    {"training", "recompute_layers", integer, 0, 1e4, {}, training<&T::recompute_layers>, "0: all",
     "with recompute = full: only the first so many blocks run forward again"},
    {"training", "recompute_early_stop", boolean, 0, 0, {}, training<&T::recompute_early_stop>, "true",
     "with recompute = full: a block's last product is not repeated (torch's non-reentrant checkpoint); "
     "false: the whole block is, as Megatron-LM's checkpoint does"},
    {"training", "fp8", boolean, 0, 0, {}, training<&T::fp8>, "false",
     "the blocks' linear layers multiply in fp8, with casts before (Transformer Engine, torchao)"},
    {"training", "compile", boolean, 0, 0, {}, training<&T::compile>, "false",
     "torch.compile: fused kernels, less work for the host"},
    {"training", "fused_kernels", boolean, 0, 0, {}, training<&T::fused_kernels>, "false",
     "eager, with a training stack's own fused kernels (Megatron-LM, apex, Transformer Engine)"},
    {"training", "fused_accumulation", boolean, 0, 0, {}, training<&T::fused_accumulation>, "true",
     "with fused_kernels: products add weights' gradients up over micro-steps themselves"},
    {"training", "flash_attention", boolean, 0, 0, {}, training<&T::flash_attention>, "true",
     "false: the matrix of scores is written to memory"},
    {"training", "attention_kernel", word, 0, 0, attention_kernel_names, set_attention_kernel, "usual",
     "whose fused attention runs: the library's that the card's profile was measured with, or a "
     "generation of FlashAttention"},

    {"cluster", "gpu", text, 0, 0, {}, cluster<&C::gpu>, "needed",
     "a profile (`stepsight show gpus`) or the path of a profile file"},
    {"cluster", "gpus", integer, 1, 1e6, {}, cluster<&C::gpus>, "1", "number of GPUs"},
    {"cluster", "link", text, 0, 0, {}, cluster<&C::link>, "needed above one GPU",
     "what the GPUs talk over (`stepsight show links`); `loopback:K` for a partner on one GPU"},
    {"cluster", "link_speed", number, 0.001, 1000, {}, cluster<&C::link_speed>, "1",
     "what if: bandwidth of everything that goes over the link, over what was measured or its class says; "
     "latencies stay"},
    {"cluster", "nodes", integer, 1, 1e6, {}, cluster<&C::nodes>, "1",
     "machines that the GPUs are spread over evenly; the link then names a network, too"},
    {"cluster", "gpus_per_node", integer, 1, 1e6, {}, cluster<&C::gpus_per_node>, "-",
     "instead of `nodes`: GPUs of a full machine; fewer GPUs are one machine"},
    {"cluster", "host_memory_GBps", number, 0, 1e5, {}, cluster<&C::host_memory_GBps>,
     "0: by the card's PCIe", "what a machine's CPUs read and write in a second, where they update parameters"},
    {"cluster", "topo", text, 0, 0, {}, cluster<&C::topo>, "-",
     "file with the output of `nvidia-smi topo -m`: how the machine really is wired"},

    {"parallel", "strategy", word, 0, 0, strategy_names, set_strategy, "ddp",
     "what each data-parallel rank holds: all (ddp), or shards of optimizer states (zero1), gradients "
     "(zero2), parameters (zero3, fsdp); none: one GPU without any exchange"},
    {"parallel", "bucket_cap_MB", number, 1e-6, 1e6, {}, parallel<&P::bucket_cap_MB>, "25",
     "DDP's bucket_cap_mb, in MiB as the framework counts"},
    {"parallel", "first_bucket_MB", number, 1e-6, 1e6, {}, parallel<&P::first_bucket_MB>, "1",
     "DDP's first, small bucket, in MiB"},
    {"parallel", "overlap", boolean, 0, 0, {}, parallel<&P::overlap>, "true",
     "false: one all-reduce after backward"},
    {"parallel", "sync_each_micro_step", boolean, 0, 0, {}, parallel<&P::sync_each_micro_step>,
     "false", "true: accumulation without no_sync()"},
    {"parallel", "shard_group", integer, 0, 1e6, {}, parallel<&P::shard_group>, "0: all ranks",
     "ranks that share one copy of the sharded states (hybrid sharding)"},
    {"parallel", "unit_layers", integer, 1, 1e4, {}, parallel<&P::unit_layers>, "1",
     "blocks whose sharded parameters are gathered together"},
    {"parallel", "reshard_after_forward", boolean, 0, 0, {}, parallel<&P::reshard_after_forward>,
     "true", "false: gathered parameters stay until backward (FSDP's SHARD_GRAD_OP)"},
    {"parallel", "prefetch", integer, 0, 100, {}, parallel<&P::prefetch>, "1",
     "units gathered while one computes"},
    {"parallel", "tensor", integer, 1, 1e5, {}, parallel<&P::tensor>, "1",
     "GPUs that share each layer's matrices"},
    {"parallel", "sequence", boolean, 0, 0, {}, parallel<&P::sequence>, "false",
     "norms and residuals are split over the tensor-parallel ranks, too"},
    {"parallel", "overlap_tensor", boolean, 0, 0, {}, parallel<&P::overlap_tensor>, "true",
     "sums of input gradients over the tensor-parallel ranks run beside weight gradients"},
    {"parallel", "context", integer, 1, 1e5, {}, parallel<&P::context>, "1",
     "GPUs that share each sequence"},
    {"parallel", "context_mode", word, 0, 0, context_mode_names, set_context_mode, "ring",
     "how they come by whole sequences: keys and values passed around beside attention, or gathered "
     "before it; or tokens swapped for heads (Ulysses)"},
    {"parallel", "expert", integer, 1, 1e5, {}, parallel<&P::expert>, "1",
     "data-parallel ranks that share out a layer's experts"},
    {"parallel", "expert_imbalance", number, 1, 1000, {}, parallel<&P::expert_imbalance>, "1",
     "tokens of the expert-parallel rank that gets most, over the mean rank's"},
    {"parallel", "pipeline", integer, 1, 1e5, {}, parallel<&P::pipeline>, "1",
     "stages that the blocks are dealt out to"},
    {"parallel", "chunks", integer, 1, 1e4, {}, parallel<&P::chunks>, "1",
     "stretches of blocks on each stage (interleaved schedule)"},
    {"parallel", "schedule", word, 0, 0, schedule_names, set_schedule, "1f1b",
     "the order of a pipeline's micro-batches"},
    {"parallel", "offload", word, 0, 0, offload_names, set_offload, "none",
     "what lies in host memory"},
    {"parallel", "order", text, 0, 0, {}, parallel<&P::order>, "tp-cp-dp-pp",
     "which splits' ranks are neighbours, innermost first"},

    {"ranks", "slow_factor", number, 1, 1000, {}, irregular<&I::slow_factor>, "1",
     "compute time of the slowest rank over the others' (a hot, throttled or older card)"},
    {"ranks", "slowest_gpu", text, 0, 0, {}, irregular<&I::slowest_gpu>, "-",
     "another kind of card among the GPUs: where it computes longer, all wait for it"},
    {"ranks", "batch_imbalance", number, 1, 1000, {}, irregular<&I::batch_imbalance>, "1",
     "work of the rank that got most (longer sequences, a larger batch) over the mean rank's"},
    {"ranks", "jitter", number, 0, 0.5, {}, irregular<&I::jitter>, "0",
     "standard deviation of a rank's compute time from step to step, as a share of it"},

    {"loader", "loader_workers", integer, 0, 1e5, {}, irregular<&I::loader_workers>,
     "0: never waited for", "data-loading processes of each GPU"},
    {"loader", "worker_samples_per_s", number, 0, 1e9, {}, irregular<&I::worker_samples_per_s>,
     "needed with `loader_workers`", "samples that one of them prepares in a second"},
    {"loader", "node_samples_per_s", number, 0, 1e9, {}, irregular<&I::node_samples_per_s>,
     "0: no limit", "the most that one machine (disk, CPU, network) delivers to all its GPUs"},

    {"stalls", "stall_s", number, 0, 1e7, {}, irregular<&I::stall_s>, "0",
     "seconds that all ranks stand still at a time (evaluation, samples, logging)"},
    {"stalls", "stall_steps", integer, 0, 1e9, {}, irregular<&I::stall_steps>,
     "needed with `stall_s`", "steps between two such pauses"},

    {"run", "tokens", number, 1, 1e18, {}, run_length<&R::tokens>, "-",
     "of the whole training run"},
    {"run", "steps", integer, 1, 1e12, {}, run_length<&R::steps>, "-",
     "instead of `tokens`: optimizer steps of the run"},
    {"run", "gpu_mtbf_hours", number, 1, 1e9, {}, run_length<&R::gpu_mtbf_hours>,
     "nothing fails", "mean hours between failures that one GPU's share of the cluster causes"},
    {"run", "checkpoint_s", number, 0, 1e6, {}, run_length<&R::checkpoint_s>, "0",
     "seconds that training stands still while it saves"},
    {"run", "checkpoint_interval_s", number, 1, 1e9, {}, run_length<&R::checkpoint_interval_s>,
     "the best one", "seconds of training between two checkpoints"},
    {"run", "restart_s", number, 0, 1e7, {}, run_length<&R::restart_s>, "0",
     "seconds from a failure until training goes on"},

    {"cost", "prices", text, 0, 0, {}, set_price_list, "-",
     "a price list (`prices/`, or the path of a file) for every figure below that is not given"},
    {"cost", "currency", text, 0, 0, {}, set_currency, "the list's, or USD",
     "what the amounts are in"},
    {"cost", "rent_per_gpu_hour", number, 0, 1e6, {}, cost<&Prices::rent_per_gpu_hour>, "-",
     "renting one GPU with its share of a machine"},
    {"cost", "gpu_price", number, 0, 1e9, {}, cost<&Prices::gpu_price>, "-", "buying one card"},
    {"cost", "node_price", number, 0, 1e9, {}, cost<&Prices::node_price>, "0",
     "a machine without its cards"},
    {"cost", "bridge_price", number, 0, 1e9, {}, cost<&Prices::bridge_price>, "0",
     "an NVLink bridge between two cards, where the link has them"},
    {"cost", "nic_price", number, 0, 1e9, {}, cost<&Prices::nic_price>, "0",
     "one network adapter, whatever its rate"},
    {"cost", "nic_price_per_Gbps", number, 0, 1e9, {}, cost<&Prices::nic_price_per_Gbps>, "0",
     "of an adapter with its cable, for each Gb/s of its rate"},
    {"cost", "switch_price_per_Gbps", number, 0, 1e9, {}, cost<&Prices::switch_price_per_Gbps>, "0",
     "of the switches, for each Gb/s of every adapter"},
    {"cost", "facility_share", number, 0, 100, {}, cost<&Prices::facility_share>, "0",
     "rooms, cooling and racks, as a share of the purchase on top of it"},
    {"cost", "resale_share", number, 0, 1, {}, cost<&Prices::resale_share>, "0",
     "share of the purchase that is left at the end of its life"},
    {"cost", "years", number, 0.01, 100, {}, cost<&Prices::years>, "3",
     "life of what was bought"},
    {"cost", "utilisation", number, 0.001, 1, {}, cost<&Prices::utilisation>, "1",
     "share of that life in which the machines train"},
    {"cost", "power_price_per_kWh", number, 0, 1e4, {}, cost<&Prices::power_price_per_kWh>, "0",
     "electricity of machines that were bought; rent includes it"},
    {"cost", "gpu_power_W", number, 0, 1e5, {}, cost<&Prices::gpu_power_W>, "the card's limit",
     "what one card draws while it trains"},
    {"cost", "node_power_W", number, 0, 1e6, {}, cost<&Prices::node_power_W>, "0",
     "what a machine draws without its cards"},
    {"cost", "pue", number, 1, 10, {}, cost<&Prices::pue>, "1",
     "power at the meter over power of the machines (cooling, conversion)"},
    {"cost", "day_worth", number, 0, 1e12, {}, cost<&Prices::day_worth>, "-",
     "what ending a day earlier is worth: more cards pay until a day costs more"},

    {"plan", "micro_batch", integer, 1, 1e6, {}, plan_key<&L::micro_batch>,
     "all that divide a rank's share", "sequences of a micro-step to try, usually an array"},
    {"plan", "deadline_days", number, 1e-6, 1e6, {}, limits<&L::deadline_days>, "none",
     "the run must be done by then"},
    {"plan", "budget", number, 1e-6, 1e15, {}, limits<&L::budget>, "none",
     "the run must not cost more (the cheaper of renting and owning)"},
    {"plan", "power_limit_kW", number, 1e-6, 1e9, {}, limits<&L::power_limit_kW>, "none",
     "the machines must not draw more"},
    // clang-format on
});

}  // namespace

std::span<const ScenarioKey> scenario_keys() {
  return keys;
}

const ScenarioKey* find_scenario_key(std::string_view name) {
  for (const ScenarioKey& key : keys) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

std::string describe_values(const ScenarioKey& key) {
  switch (key.kind) {
    case KeyKind::integer:
      return fmt::format("integer {:.10g} to {:.10g}", key.least, key.most);
    case KeyKind::number:
      return fmt::format("number {:.10g} to {:.10g}", key.least, key.most);
    case KeyKind::boolean:
      return "true or false";
    case KeyKind::text:
      return "string";
    case KeyKind::word:
      break;
  }
  std::string list;
  for (const std::string_view name : key.words) {
    if (!list.empty()) list += name == key.words.back() ? " or " : ", ";
    list += name;
  }
  return list;
}

std::optional<Setting> read_setting(const ScenarioKey& key,
                                    const Value& value,
                                    const std::string& where,
                                    ErrorList& errors) {
  const ValueName name{key.name, where};
  switch (key.kind) {
    case KeyKind::integer:
      return check_int(value,
                       name,
                       static_cast<std::int64_t>(key.least),
                       static_cast<std::int64_t>(key.most),
                       errors);
    case KeyKind::number:
      return check_number(value, name, key.least, key.most, errors);
    case KeyKind::boolean:
      return check_bool(value, name, errors);
    case KeyKind::text:
      return check_string(value, name, errors);
    case KeyKind::word:
      break;
  }
  const std::optional<std::size_t> index = check_choice(value, name, key.words, errors);
  if (!index) return std::nullopt;
  return std::string(key.words[*index]);
}

}  // namespace stepsight
