#include "simulate/scaling_curve.h"

#include <optional>

#include "model/errors.h"
#include "model/parallel_layout.h"
#include "model/scenario_rules.h"

namespace stepsight {

namespace {

std::optional<Scenario> with_gpus(const Scenario& scenario, std::int64_t gpus) {
  if (gpus == 1) {
    return on_one_gpu(scenario, scenario.training.global_batch > 0);
  }
  Scenario out = scenario;
  out.cluster.gpus = gpus;
  const std::int64_t each = scenario.cluster.gpus / scenario.cluster.nodes;
  out.cluster.nodes = gpus <= each ? 1 : gpus / each;
  if (gpus > each && gpus % each != 0) return std::nullopt;
  const Parallel& p = out.parallel;
  const std::int64_t split = p.tensor * p.context * p.pipeline;
  if (gpus % split != 0 || gpus / split < 1) return std::nullopt;
  if (out.training.global_batch > 0) {
    const std::int64_t shares = data_parallel(out) * out.training.accumulation;
    if (out.training.global_batch % shares != 0) return std::nullopt;
    out.training.batch = out.training.global_batch / shares;
  }
  if (out.parallel.shard_group > 0 && data_parallel(out) % out.parallel.shard_group != 0) {
    return std::nullopt;
  }
  if (!violations(out).empty()) return std::nullopt;
  return out;
}

}  // namespace

std::vector<StudyPoint> scaling_curve(const Scenario& scenario,
                                      const GpuProfile& gpu,
                                      const ModelError& error) {
  std::vector<std::int64_t> counts;
  for (std::int64_t n = 1; n < scenario.cluster.gpus; n *= 2) counts.push_back(n);
  counts.push_back(scenario.cluster.gpus);
  std::vector<StudyPoint> out;
  for (const std::int64_t n : counts) {
    const std::optional<Scenario> other = n == scenario.cluster.gpus ? scenario : with_gpus(scenario, n);
    if (!other) continue;
    try {
      const std::vector<StudyPoint> point =
          study({&*other, 1}, [&](const std::string&) -> const GpuProfile& { return gpu; }, error);
      out.push_back(point.front());
    } catch (const UserError&) {
      // A link that joins only groups of certain sizes.
      if (n == scenario.cluster.gpus) throw;
    }
  }
  return out;
}

}  // namespace stepsight
