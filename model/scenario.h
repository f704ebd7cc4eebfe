// One question to the simulator: this model, trained like this, on these cards, split like this.
// A scenario file with arrays stands for many of these (model/io/scenario_file.h).
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/dtype.h"
#include "model/model_shape.h"

namespace stepsight {

// What parameters, gradients and compute are held in.
//   pure:  parameters, gradients and optimizer states in the compute type
//   mixed: parameters, gradients and optimizer states in fp32, compute autocast to `compute`
//   master: as pure, but the optimizer works on an fp32 copy of the parameters, casts the gradients
//           to it and the result back (apex O2, Megatron)
struct Precision {
  Dtype compute = Dtype::bf16;
  bool mixed = false;
  bool master = false;

  friend constexpr bool operator==(Precision, Precision) = default;
};

struct PrecisionName {
  std::string_view name;
  Precision precision;
};

inline constexpr std::array<PrecisionName, 8> precisions{{
    {"fp32", {Dtype::fp32, false}},
    {"tf32", {Dtype::tf32, false}},
    {"bf16", {Dtype::bf16, false}},
    {"fp16", {Dtype::fp16, false}},
    {"amp-bf16", {Dtype::bf16, true}},
    {"amp-fp16", {Dtype::fp16, true}},
    {"master-bf16", {Dtype::bf16, false, true}},
    {"master-fp16", {Dtype::fp16, false, true}},
}};

enum class OptimizerKind { adamw, sgd, sgd_momentum };
enum class Strategy { ddp, none };
// Activations kept for backward: all, or the blocks' inputs only (each block runs forward again).
enum class Recompute { none, full };

// The words that files and flags use, in the order of the enumerators.
inline constexpr std::array<std::string_view, 3> optimizer_names{"adamw", "sgd", "sgd-momentum"};
inline constexpr std::array<std::string_view, 2> strategy_names{"ddp", "none"};

struct Training {
  std::int64_t batch = 1;         // sequences of each GPU in one micro-step
  std::int64_t global_batch = 0;  // sequences of a step over all GPUs where the scenario fixes them
                                  // (strong scaling; batch follows from it); 0 = batch is fixed
  std::int64_t seq = 0;           // tokens of a sequence; 0 = the model's longest
  std::int64_t accumulation = 1;  // micro-steps between two optimizer steps
  Precision precision;
  std::optional<Dtype> gradient_dtype;  // of the all-reduce; empty = as the parameters
  OptimizerKind optimizer = OptimizerKind::adamw;
  bool fused_optimizer = true;  // false: a loop over tensors, a kernel for each arithmetic step
  Recompute recompute = Recompute::none;
  bool compile = false;
  bool flash_attention = true;
};

struct LinkFacts;  // model/link_curve.h

struct Cluster {
  std::string gpu;  // profile name, e.g. "h200-sxm"
  std::int64_t gpus = 1;
  std::string link;  // link name, e.g. "nvlink4-nvswitch" or "loopback:2"; empty with one GPU
  std::int64_t nodes = 1;  // machines that the GPUs are spread over evenly
  std::string topo;        // file of `nvidia-smi topo -m` text, or empty
  // What `link` and `topo` stand for, once a reader has looked them up (model/io/link_file.h). Null:
  // the name alone decides.
  std::shared_ptr<const LinkFacts> facts;
};

struct Parallel {
  Strategy strategy = Strategy::ddp;
  double bucket_cap_MB = 25;          // DDP's bucket_cap_mb (MiB, as the framework counts)
  double first_bucket_MB = 1;         // the framework's first, small bucket (MiB)
  bool overlap = true;                // false: one all-reduce after backward
  bool sync_each_micro_step = false;  // true: accumulation without no_sync()
};

struct Scenario {
  std::string title;
  ModelShape model;
  Training training;
  Cluster cluster;
  Parallel parallel;
};

}  // namespace stepsight
