// One question to the simulator: this model, trained like this, on these cards, split like this.
// A scenario file with arrays stands for many of these (model/io/scenario_file.h).
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/attention_generation.h"
#include "model/dtype.h"
#include "model/irregular.h"
#include "model/model_shape.h"
#include "model/prices.h"

namespace stepsight {

// What parameters, gradients and compute are held in.
//   pure:  parameters, gradients and optimizer states in the compute type
//   mixed: parameters, gradients and optimizer states in fp32, compute autocast to `compute`
//   master: as pure, but the optimizer works on an fp32 copy of the parameters, casts the gradients
//           to it and the result back (apex O2, Megatron)
//   wide_sums: with master: each micro-step adds its 16-bit gradients to fp32 sums by passes of
//   their own,
//           and the ranks all-reduce these sums whole, also where they share out the optimizer's
//           states (DeepSpeed's BF16_Optimizer)
struct Precision {
  Dtype compute = Dtype::bf16;
  bool mixed = false;
  bool master = false;
  bool wide_sums = false;

  friend constexpr bool operator==(Precision, Precision) = default;
};

struct PrecisionName {
  std::string_view name;
  Precision precision;
};

inline constexpr std::array<PrecisionName, 9> precisions{{
    {"fp32", {Dtype::fp32, false}},
    {"tf32", {Dtype::tf32, false}},
    {"bf16", {Dtype::bf16, false}},
    {"fp16", {Dtype::fp16, false}},
    {"amp-bf16", {Dtype::bf16, true}},
    {"amp-fp16", {Dtype::fp16, true}},
    {"master-bf16", {Dtype::bf16, false, true}},
    {"master-fp16", {Dtype::fp16, false, true}},
    {"summed-bf16", {Dtype::bf16, false, true, true}},
}};

enum class OptimizerKind { adamw, sgd, sgd_momentum };
// How the data-parallel ranks hold the model's states (Rajbhandari et al. 2020, ZeRO).
//   ddp    every rank holds all; gradients are all-reduced in buckets
//   none   one GPU, no exchange
//   zero1  optimizer states are shared out: gradients are reduce-scattered, updated parameters
//          gathered
//   zero2  gradients too
//   zero3, fsdp  parameters too: each unit's are gathered before it runs and dropped after
enum class Strategy { ddp, none, zero1, zero2, zero3, fsdp };
constexpr bool shards_optimizer(Strategy s) {
  return s != Strategy::ddp && s != Strategy::none;
}
constexpr bool shards_gradients(Strategy s) {
  return shards_optimizer(s) && s != Strategy::zero1;
}
constexpr bool shards_parameters(Strategy s) {
  return s == Strategy::zero3 || s == Strategy::fsdp;
}

// Activations kept for backward: all; all but the attention's scores, which are computed again
// (Korthikanti et al. 2022); the blocks' inputs only (each block runs forward again); or the
// results of the attention and of every other product, from which the rest is computed again
// (torchtitan's policy for torch's selective checkpoint, parallelize_llama.py; its memory is
// counted as if all were kept).
enum class Recompute { none, selective, full, operators };
// How context-parallel ranks come by the others' keys and values: passed around while the attention
// of those at hand runs, or gathered before it; or they swap tokens for heads, so that each has
// whole sequences of some heads (Jacobs et al. 2023, DeepSpeed-Ulysses).
enum class ContextMode { ring, all_gather, all_to_all };
// How a pipeline's micro-batches take turns.
enum class PipelineSchedule { one_f_one_b, gpipe, interleaved, zero_bubble };
// What lies in host memory and crosses PCIe when it is needed.
//   optimizer    the optimizer's states, which the host's CPUs update: gradients go there, updated
//                parameters come back (Ren et al. 2021, ZeRO-Offload)
//   parameters   the shards of parameters and gradients, too (FSDP's CPUOffload, ZeRO-3)
//   activations  what each block keeps for its backward
enum class Offload { none, optimizer, parameters, activations };

// The words that files and flags use, in the order of the enumerators.
inline constexpr std::array<std::string_view, 3> optimizer_names{"adamw", "sgd", "sgd-momentum"};
inline constexpr std::array<std::string_view, 6> strategy_names{
    "ddp", "none", "zero1", "zero2", "zero3", "fsdp"};
inline constexpr std::array<std::string_view, 4> recompute_names{
    "none", "selective", "full", "operators"};
inline constexpr std::array<std::string_view, 4> attention_kernel_names{
    "usual", "flash1", "flash2", "flash3"};
inline constexpr std::array<std::string_view, 3> context_mode_names{
    "ring", "all-gather", "all-to-all"};
inline constexpr std::array<std::string_view, 4> schedule_names{
    "1f1b", "gpipe", "interleaved", "zero-bubble"};
inline constexpr std::array<std::string_view, 4> offload_names{
    "none", "optimizer", "parameters", "activations"};

// The host's CPUs update the parameters.
constexpr bool updates_on_host(Offload offload) {
  return offload == Offload::optimizer || offload == Offload::parameters;
}

struct Training {
  std::int64_t batch = 1;         // sequences of each GPU in one micro-step
  std::int64_t global_batch = 0;  // sequences of a step over all GPUs where the scenario fixes them
                                  // (strong scaling; batch follows from it); 0 = batch is fixed
  std::int64_t seq = 0;           // tokens of a sequence; 0 = the model's longest
  std::int64_t target_seq = 0;    // tokens of a target sequence (t5); 0 = as seq
  std::int64_t accumulation = 1;  // micro-steps between two optimizer steps
  Precision precision;
  std::optional<Dtype> gradient_dtype;  // of the all-reduce; empty = as the parameters
  OptimizerKind optimizer = OptimizerKind::adamw;
  bool fused_optimizer = true;  // false: a loop over tensors, a kernel for each arithmetic step
  Recompute recompute = Recompute::none;
  std::int64_t recompute_layers = 0;  // blocks that recompute, the first ones; 0 = all (with full)
  // The products of blocks' linear layers in fp8 beside 16-bit everything else: inputs, weights and
  // gradients are cast before them (Transformer Engine, torchao's float8). Head and router are not.
  bool fp8 = false;
  bool compile = false;
  // Eager, but with the fused kernels that training stacks bring (Megatron-LM, apex, Transformer
  // Engine): scale, mask and softmax of the scores; both halves of SwiGLU; dropout with the
  // residual's sum; rotary positions.
  bool fused_kernels = false;
  // With fused_kernels: the products that form weights' gradients add them up over micro-steps
  // themselves (Megatron-LM's gradient accumulation fusion). False: autograd's adds do.
  bool fused_accumulation = true;
  bool flash_attention = true;
  // Whose kernels run the fused attention.
  AttentionKernel attention_kernel = AttentionKernel::usual;
  // With full recomputation: a block that runs again stops at the last tensor that backward needs
  // (torch's non-reentrant checkpoint), so that its last product is not repeated; Megatron-LM's
  // runs whole.
  bool recompute_early_stop = true;
};

struct LinkFacts;  // model/link_curve.h

struct Cluster {
  std::string gpu;  // profile name, e.g. "h200-sxm"
  std::int64_t gpus = 1;
  std::string link;        // link name, e.g. "nvlink4-nvswitch" or "loopback:2"; empty with one GPU
  double link_speed = 1;   // bandwidth of every collective over what was measured or its class says
  std::int64_t nodes = 1;  // machines that the GPUs are spread over evenly
  std::int64_t gpus_per_node = 0;  // instead: nodes follow from it; 0 = nodes are said
  double host_memory_GBps = 0;  // that a machine's CPUs read and write together; 0 = a class value
  std::string topo;             // file of `nvidia-smi topo -m` text, "[cluster.topology]", or empty
  // What `link` and `topo` stand for, once a reader has looked them up (model/io/link_file.h).
  // Null: the name alone decides.
  std::shared_ptr<const LinkFacts> facts;
};

struct Parallel {
  Strategy strategy = Strategy::ddp;
  double bucket_cap_MB = 25;          // DDP's bucket_cap_mb (MiB, as the framework counts)
  double first_bucket_MB = 1;         // the framework's first, small bucket (MiB)
  bool overlap = true;                // false: one all-reduce after backward
  bool sync_each_micro_step = false;  // true: accumulation without no_sync()

  // Sharding.
  std::int64_t shard_group = 0;       // ranks that share one copy of the states (hybrid sharding);
                                      // 0 = all data-parallel ranks
  std::int64_t unit_layers = 1;       // blocks that are gathered together
  bool reshard_after_forward = true;  // false: gathered parameters stay until backward is done
  std::int64_t prefetch = 1;          // units gathered while one computes; 0 = none

  // Splits of the model itself.
  std::int64_t tensor = 1;
  bool sequence = false;       // norms and residuals are split over the tensor-parallel ranks, too
  bool overlap_tensor = true;  // the sum of an input's gradient runs beside the weight's gradient
  std::int64_t context = 1;
  ContextMode context_mode = ContextMode::ring;
  std::int64_t expert = 1;
  double expert_imbalance = 1;  // tokens of the expert rank that gets most, over the mean rank's
  std::int64_t pipeline = 1;
  std::int64_t chunks = 1;  // of the model on each pipeline stage
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  Offload offload = Offload::none;
  std::string order = "tp-cp-dp-pp";  // which ranks are neighbours, innermost first
};

struct Scenario {
  std::string title;
  ModelShape model;
  Training training;
  Cluster cluster;
  Parallel parallel;
  Irregular irregular;
  Prices cost;
  RunLength run;
  PlanLimits limits;
};

}  // namespace stepsight
