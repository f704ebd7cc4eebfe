#include "model/scenario_rules.h"

#include <algorithm>
#include <charconv>

#include "model/parallel_layout.h"

namespace stepsight {
namespace {

using Violations = std::vector<RuleViolation>;

// In the words of a message: "models of family resnet".
std::string kind_of(const ModelShape& model) {
  if (model.kv_rank > 0) return "models with latent attention";
  return "models of family " + std::string(family_names[static_cast<std::size_t>(model.family)]);
}

void check_model(Violations& found, const ModelShape& model) {
  for (std::string& sentence : problems(model)) {
    const std::size_t end = sentence.find_first_of(" ,");
    found.push_back({"model", sentence.substr(0, end), std::move(sentence), {"model"}});
  }
}

void check_training(Violations& found, const Scenario& s) {
  const std::int64_t longest = longest_sequence(s.model);
  if (s.training.batch < 1) found.push_back({"training", "batch", "batch must be at least 1", {}});
  if (s.training.accumulation < 1) {
    found.push_back({"training", "accumulation", "accumulation must be at least 1", {}});
  }
  if (s.training.recompute_layers > 0 && s.training.recompute != Recompute::full) {
    found.push_back({"training",
                     "recompute_layers",
                     "recompute_layers needs recompute = \"full\"",
                     {"recompute"}});
  }
  if (s.training.recompute_layers > s.model.layers) {
    found.push_back({"training",
                     "recompute_layers",
                     "recompute_layers must be at most the model's " +
                         std::to_string(s.model.layers) + " layers, got " +
                         std::to_string(s.training.recompute_layers),
                     {"model"}});
  }
  if (s.training.seq < 1 && longest < 1) {
    found.push_back(
        {"training", "seq", "seq is needed: the model does not say its longest", {"model"}});
  }
  if (s.training.fp8 && info(s.training.precision.compute).bytes != 2) {
    found.push_back({"training",
                     "fp8",
                     "fp8 needs a 16-bit precision: what is not a product is computed in it",
                     {"precision"}});
  }
  if (s.training.target_seq > 0 && s.model.family != Family::t5) {
    found.push_back({"training",
                     "target_seq",
                     "target_seq needs a model with an encoder and a decoder (family t5)",
                     {"model"}});
  }
  if (longest > 0 && s.training.seq > longest) {
    const std::string_view limit = s.model.positions > 0 ? "positions" : "max_seq";
    found.push_back({"training",
                     "seq",
                     "seq must be at most " + std::to_string(longest) + ", the model's " +
                         std::string(limit) + ", got " + std::to_string(s.training.seq),
                     {"model"}});
  }
}

void check_irregular(Violations& found, const Irregular& i) {
  if (i.loader_workers > 0 && i.worker_samples_per_s <= 0) {
    found.push_back(
        {"loader",
         "loader_workers",
         "loader_workers needs worker_samples_per_s: samples that one worker prepares in a second",
         {"worker_samples_per_s"}});
  }
  if (i.worker_samples_per_s > 0 && i.loader_workers == 0) {
    found.push_back({"loader",
                     "worker_samples_per_s",
                     "worker_samples_per_s needs loader_workers: how many workers each GPU has",
                     {"loader_workers"}});
  }
  if ((i.stall_s > 0) != (i.stall_steps > 0)) {
    found.push_back({"stalls",
                     i.stall_s > 0 ? "stall_s" : "stall_steps",
                     "stall_s and stall_steps go together: how long a pause is, and how many steps "
                     "lie between two",
                     {"stall_s", "stall_steps"}});
  }
}

// A mixture with the usual attention is split as well: its experts' widths, its routers' tokens.
bool can_share_sequence(const ModelShape& model) {
  ModelShape dense = model;
  dense.experts = 0;
  return can_be_split(dense);
}

// Tensor parallelism as Megatron-LM has it: every rank holds whole heads. Fewer key-value heads
// than ranks are held by several.
void check_tensor(Violations& found, const Scenario& s) {
  const std::int64_t ranks = s.parallel.tensor;
  const ModelShape& m = s.model;
  const auto must_divide = [&](std::int64_t size, const char* what, const std::string& more) {
    if (size < 1 || size % ranks == 0) return;
    found.push_back({"parallel",
                     "tensor",
                     "tensor must divide the model's " + std::string(what) + ": " +
                         std::to_string(size) + " cannot be shared out to " +
                         std::to_string(ranks) + " ranks" + more,
                     {"model"}});
  };
  if (m.experts > 0 && can_share_sequence(m)) {
    must_divide(m.expert_ffn, "expert_ffn", "");
    if (!s.parallel.sequence) {
      found.push_back({"parallel",
                       "sequence",
                       "tensor > 1 needs sequence = true for models with experts: each rank routes "
                       "its own tokens",
                       {"tensor", "model"}});
    }
  }
  if (ranks > 1 && !can_share_sequence(m)) {
    found.push_back(
        {"parallel",
         "tensor",
         "tensor must be 1 for " + kind_of(m) + ": their layers are not split over ranks here",
         {"model"}});
    return;
  }
  must_divide(m.heads, "heads", "");
  if (m.kv_heads >= 1 && m.kv_heads != m.heads && m.kv_heads % ranks != 0 &&
      ranks % m.kv_heads != 0) {
    found.push_back(
        {"parallel",
         "tensor",
         "tensor must divide kv_heads or be a multiple of it: " + std::to_string(m.kv_heads) +
             " key-value heads on " + std::to_string(ranks) + " ranks",
         {"model"}});
  }
  must_divide(m.ffn, "ffn", "");
  const std::int64_t step = 128 * ranks;
  const std::int64_t padded = (m.vocab + step - 1) / step * step;
  must_divide(m.vocab, "vocab", "; Megatron-LM pads it to " + std::to_string(padded));
}

// What the splits ask of a sequence.
void check_sequence_splits(Violations& found, const Scenario& s) {
  const Parallel& p = s.parallel;
  if (p.context > 1 && !can_share_sequence(s.model)) {
    found.push_back({"parallel",
                     "context",
                     "context must be 1 for " + kind_of(s.model) +
                         ": their sequences are not split over ranks here",
                     {"model"}});
    return;
  }
  const std::int64_t seq = s.training.seq > 0 ? s.training.seq : longest_sequence(s.model);
  if (seq < 1) return;
  // Under a causal mask each rank holds a stretch from either end.
  const std::int64_t stretches = s.model.family == Family::bert ? p.context : 2 * p.context;
  if (p.context > 1 && seq % stretches != 0) {
    found.push_back({"parallel",
                     "context",
                     "seq must be a multiple of " + std::to_string(stretches) + " for context = " +
                         std::to_string(p.context) + ", got " + std::to_string(seq),
                     {"seq", "model"}});
  } else if (p.sequence && seq / p.context % p.tensor != 0) {
    found.push_back(
        {"parallel",
         "sequence",
         "tensor must divide the tokens that its ranks share: " + std::to_string(seq / p.context) +
             " of a sequence cannot be shared out to " + std::to_string(p.tensor),
         {"tensor", "context", "seq", "model"}});
  }
  if (p.context > 1 && p.context_mode == ContextMode::all_to_all &&
      (s.model.heads / p.tensor % p.context != 0 ||
       std::max<std::int64_t>(1, s.model.kv_heads / p.tensor) % p.context != 0)) {
    found.push_back({"parallel",
                     "context",
                     "context_mode \"all-to-all\" needs context to divide the heads of a rank: " +
                         std::to_string(s.model.heads) + " heads and " +
                         std::to_string(s.model.kv_heads) + " key-value heads over tensor = " +
                         std::to_string(p.tensor) + " and context = " + std::to_string(p.context),
                     {"context_mode", "model", "tensor"}});
  }
  if (p.context > 1 && !s.training.flash_attention) {
    found.push_back({"parallel",
                     "context",
                     "context parallelism needs flash_attention = true",
                     {"flash_attention"}});
  }
}

// Experts are shared out inside data parallelism, whole and as many to each rank.
void check_expert_split(Violations& found, const Scenario& s) {
  const Parallel& p = s.parallel;
  const auto broken = [&](std::string what, std::vector<std::string_view> involves) {
    found.push_back({"parallel", "expert", std::move(what), std::move(involves)});
  };
  const std::string experts = std::to_string(s.model.experts);
  if (s.model.experts == 0) {
    broken("expert must be 1 for a model without experts (mixtures have `experts` in [model])",
           {"model"});
    return;
  }
  if (s.model.experts % p.expert != 0) {
    broken("expert must divide the model's experts: " + experts + " cannot be shared out to " +
               std::to_string(p.expert) + " ranks",
           {"model", "experts"});
  }
  const std::int64_t data = axis_size(s, Axis::data);
  if (data % p.expert != 0) {
    broken("expert must divide the " + std::to_string(data) + " data-parallel ranks, got " +
               std::to_string(p.expert),
           {"gpus", "tensor", "context", "pipeline"});
  }
  if (p.shard_group > 0 && p.shard_group % p.expert != 0 && p.expert % p.shard_group != 0) {
    broken("of expert and shard_group one must divide the other, got " + std::to_string(p.expert) +
               " and " + std::to_string(p.shard_group),
           {"shard_group"});
  }
}

void check_pipeline_split(Violations& found, const Scenario& s) {
  if (s.model.family == Family::t5) {
    found.push_back({"parallel",
                     "pipeline",
                     "pipeline must be 1 for models of family t5: their decoder needs the whole "
                     "encoder's result",
                     {"model"}});
    return;
  }
  const Parallel& p = s.parallel;
  const auto broken =
      [&](const char* key, std::string what, std::vector<std::string_view> involves) {
        found.push_back({"parallel", key, std::move(what), std::move(involves)});
      };
  if (p.pipeline * p.chunks > s.model.layers) {
    broken("pipeline",
           "pipeline x chunks must be at most the model's " + std::to_string(s.model.layers) +
               " layers, got " + std::to_string(p.pipeline * p.chunks),
           {"model", "chunks"});
  }
  const std::int64_t first = (s.model.layers + p.pipeline * p.chunks - 1) / (p.pipeline * p.chunks);
  if (s.model.dense_layers > first) {
    broken("pipeline",
           "the model's " + std::to_string(s.model.dense_layers) +
               " layers without experts must fit on the first of pipeline x chunks stretches, "
               "which has " +
               std::to_string(first) + " layers",
           {"model", "chunks"});
  }
  const bool interleaved = p.schedule == PipelineSchedule::interleaved;
  if (interleaved != (p.chunks > 1)) {
    broken("chunks",
           interleaved ? "schedule \"interleaved\" needs at least 2 chunks"
                       : "more than one chunk needs schedule = \"interleaved\"",
           {"schedule"});
  }
  if (interleaved && s.training.accumulation % p.pipeline != 0) {
    broken("schedule",
           "schedule \"interleaved\" needs accumulation to be a multiple of the " +
               std::to_string(p.pipeline) + " stages, got " +
               std::to_string(s.training.accumulation),
           {"accumulation", "pipeline"});
  }
}

void check_offload(Violations& found, const Scenario& s) {
  const Parallel& p = s.parallel;
  const auto broken = [&](std::string what, std::vector<std::string_view> involves) {
    found.push_back({"parallel", "offload", std::move(what), std::move(involves)});
  };
  if (p.pipeline > 1) {
    broken("offload needs pipeline = 1: stages that offload are not simulated", {"pipeline"});
  }
  if (p.offload == Offload::parameters && !shards_parameters(p.strategy)) {
    broken("offload = \"parameters\" needs strategy \"fsdp\" or \"zero3\", on one GPU, too",
           {"strategy"});
  }
  if (p.offload == Offload::optimizer && !shards_optimizer(p.strategy) &&
      s.cluster.gpus > p.tensor * p.context * p.pipeline) {
    broken(
        "offload = \"optimizer\" needs a strategy that shares the optimizer's states out (zero1, "
        "zero2, "
        "zero3, fsdp) on more than one data-parallel rank",
        {"strategy", "gpus"});
  }
  if (updates_on_host(p.offload) && loopback_count(s.cluster.link)) {
    broken("offload of states does not go with a loop-back link", {"link"});
  }
}

// What the splits ask of the model and of the number of GPUs.
void check_splits(Violations& found, const Scenario& s) {
  const Parallel& p = s.parallel;
  const auto not_yet = [&](bool asked, const char* key, const char* what) {
    if (asked) found.push_back({"parallel", key, std::string(what) + " is not simulated yet", {}});
  };
  not_yet(p.pipeline > 1 && shards_gradients(p.strategy),
          "strategy",
          "a pipeline whose gradients or parameters are sharded");
  if (p.pipeline > 1) check_pipeline_split(found, s);
  if (p.offload != Offload::none) check_offload(found, s);
  if (p.tensor > 1) check_tensor(found, s);
  if (p.tensor >= 1 && p.context >= 1) check_sequence_splits(found, s);
  if (!parse_order(p.order)) {
    found.push_back({"parallel",
                     "order",
                     "order must name tp, cp, dp and pp once each, innermost first, such as "
                     "\"tp-cp-dp-pp\"; got \"" +
                         p.order.substr(0, 40) + "\"",
                     {}});
    return;
  }
  const std::int64_t model_ranks = p.tensor * p.context * p.pipeline;
  if (s.cluster.gpus >= 1 && s.cluster.gpus % model_ranks != 0) {
    found.push_back({"cluster",
                     "gpus",
                     "gpus must be a multiple of tensor x context x pipeline = " +
                         std::to_string(model_ranks) + ", got " + std::to_string(s.cluster.gpus),
                     {"tensor", "context", "pipeline"}});
    return;
  }
  if (p.expert > 1) check_expert_split(found, s);
  const std::int64_t data = axis_size(s, Axis::data);
  if (p.shard_group > 0 && data % p.shard_group != 0) {
    found.push_back({"parallel",
                     "shard_group",
                     "shard_group must divide the " + std::to_string(data) +
                         " data-parallel ranks, got " + std::to_string(p.shard_group),
                     {"gpus", "tensor", "context", "pipeline"}});
  }
}

// Strong scaling shares a fixed number of sequences out, and every GPU needs the same whole number.
void check_global_batch(Violations& found, const Scenario& s) {
  const std::int64_t ranks = data_parallel(s);
  const std::int64_t shares = ranks * s.training.accumulation;
  const std::int64_t total = s.training.global_batch;
  if (total == 0 || shares < 1 || total == shares * s.training.batch) return;
  found.push_back({"training",
                   "global_batch",
                   std::string("global_batch must be a multiple of ") +
                       (ranks == s.cluster.gpus ? "gpus" : "data-parallel ranks") +
                       " x accumulation: " + std::to_string(total) +
                       " sequences cannot be shared out to " + std::to_string(ranks) + " x " +
                       std::to_string(s.training.accumulation),
                   {"gpus", "accumulation"}});
}

void check_cluster(Violations& found, const Scenario& s) {
  const Cluster& c = s.cluster;
  if (c.gpu.empty()) found.push_back({"cluster", "gpu", "missing key 'gpu' in [cluster]", {}});
  if (c.gpus < 1) found.push_back({"cluster", "gpus", "gpus must be at least 1", {}});
  if (c.gpus > 1 && c.link.empty()) {
    found.push_back({"cluster",
                     "link",
                     "more than one GPU needs a link (key 'link' in [cluster], for example "
                     "\"nvlink4-nvswitch\")",
                     {"gpus"}});
  }
  if (c.nodes < 1 || (c.gpus_per_node == 0 && c.gpus >= 1 && c.gpus % c.nodes != 0)) {
    found.push_back({"cluster",
                     "nodes",
                     "nodes must divide gpus: " + std::to_string(c.gpus) +
                         " GPUs cannot be spread evenly over " + std::to_string(c.nodes) +
                         " machines",
                     {"gpus"}});
  }
  if (c.gpus_per_node > 0 && c.gpus > c.gpus_per_node && c.gpus % c.gpus_per_node != 0) {
    found.push_back({"cluster",
                     "gpus_per_node",
                     std::to_string(c.gpus) + " GPUs do not fill machines of " +
                         std::to_string(c.gpus_per_node),
                     {"gpus"}});
  }
  const std::optional<std::int64_t> loops = loopback_count(c.link);
  if (loops && *loops == 0) {
    found.push_back({"cluster",
                     "link",
                     "link \"" + c.link.substr(0, 40) +
                         "\": the count after 'loopback:' must be an integer from 1 to 64",
                     {}});
  }
  if (loops && c.gpus > 1) {
    found.push_back({"cluster",
                     "link",
                     "a loop-back link stands for a partner on one GPU: gpus must be 1, got " +
                         std::to_string(c.gpus),
                     {"gpus"}});
  }
  const Parallel& p = s.parallel;
  const std::int64_t model_ranks = p.tensor * p.context * p.pipeline;
  if (p.strategy == Strategy::none && p.context * c.gpus > model_ranks) {
    found.push_back({"parallel",
                     "strategy",
                     "strategy \"none\" exchanges no gradients: gpus must be " +
                         (model_ranks > 1 ? "tensor x pipeline" : std::string("1")) + ", got " +
                         std::to_string(c.gpus),
                     {"gpus", "tensor", "context", "pipeline"}});
  }
}

}  // namespace

std::vector<RuleViolation> violations(const Scenario& scenario) {
  Violations found;
  check_model(found, scenario.model);
  check_training(found, scenario);
  check_irregular(found, scenario.irregular);
  check_splits(found, scenario);
  check_global_batch(found, scenario);
  check_cluster(found, scenario);
  return found;
}

std::optional<std::int64_t> loopback_count(std::string_view link) {
  constexpr std::string_view prefix = "loopback:";
  if (!link.starts_with(prefix)) return std::nullopt;
  const std::string_view digits = link.substr(prefix.size());
  std::int64_t count = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const bool whole = status == std::errc{} && end == digits.data() + digits.size();
  return whole && count >= 1 && count <= 64 ? count : 0;
}

}  // namespace stepsight
