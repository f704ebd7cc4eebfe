#include "model/scenario_rules.h"

#include <charconv>

#include "model/parallel_layout.h"

namespace stepsight {
namespace {

using Violations = std::vector<RuleViolation>;

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
  if (s.training.seq < 1 && longest < 1) {
    found.push_back(
        {"training", "seq", "seq is needed: the model does not say its longest", {"model"}});
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

// What the splits ask of the model and of the number of GPUs.
void check_splits(Violations& found, const Scenario& s) {
  const Parallel& p = s.parallel;
  const auto not_yet = [&](bool asked, const char* key, const char* what) {
    if (asked) found.push_back({"parallel", key, std::string(what) + " is not simulated yet", {}});
  };
  not_yet(p.tensor > 1, "tensor", "tensor parallelism");
  not_yet(p.context > 1, "context", "context parallelism");
  not_yet(p.expert > 1, "expert", "expert parallelism");
  not_yet(p.pipeline > 1, "pipeline", "pipeline parallelism");
  not_yet(p.offload != Offload::none, "offload", "offloading");
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
  found.push_back(
      {"training",
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
  if (c.nodes < 1 || (c.gpus >= 1 && c.gpus % c.nodes != 0)) {
    found.push_back({"cluster",
                     "nodes",
                     "nodes must divide gpus: " + std::to_string(c.gpus) +
                         " GPUs cannot be spread evenly over " + std::to_string(c.nodes) +
                         " machines",
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
  if (s.parallel.strategy == Strategy::none && c.gpus > 1) {
    found.push_back(
        {"parallel",
         "strategy",
         "strategy \"none\" exchanges no gradients: gpus must be 1, got " + std::to_string(c.gpus),
         {"gpus"}});
  }
}

}  // namespace

std::vector<RuleViolation> violations(const Scenario& scenario) {
  Violations found;
  check_model(found, scenario.model);
  check_training(found, scenario);
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
