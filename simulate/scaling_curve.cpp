#include "simulate/scaling_curve.h"

#include <algorithm>
#include <optional>

#include "model/errors.h"
#include "model/parallel_layout.h"
#include "model/scenario_rules.h"

namespace stepsight {

namespace {

constexpr std::int64_t usual_machine = 8;  // cards that a machine has room for

std::optional<Scenario> with_gpus(const Scenario& scenario, std::int64_t gpus) {
  if (gpus == 1) {
    return on_one_gpu(scenario, scenario.training.global_batch > 0);
  }
  Scenario out = scenario;
  out.cluster.gpus = gpus;
  const std::int64_t own = scenario.cluster.gpus / scenario.cluster.nodes;
  const std::int64_t each = scenario.cluster.nodes == 1 ? std::max(own, usual_machine) : own;
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

// Nothing for a number of GPUs that cannot be.
std::optional<StudyPoint> point_with(const Scenario& scenario,
                                     std::int64_t gpus,
                                     const GpuProfile& gpu,
                                     const ModelError& error) {
  const std::optional<Scenario> other = with_gpus(scenario, gpus);
  if (!other) return std::nullopt;
  const ProfileOf profile_of = [&](const std::string&) -> const GpuProfile& { return gpu; };
  try {
    return std::move(study({&*other, 1}, profile_of, error).front());
  } catch (const UserError&) {
    return std::nullopt;  // a link that joins only groups of certain sizes
  }
}

}  // namespace

std::vector<StudyPoint> scaling_curve(const Scenario& scenario,
                                      const GpuProfile& gpu,
                                      const ModelError& error) {
  std::vector<StudyPoint> out;
  for (std::int64_t n = 1; n < scenario.cluster.gpus; n *= 2) {
    if (std::optional<StudyPoint> point = point_with(scenario, n, gpu, error))
      out.push_back(std::move(*point));
  }
  const ProfileOf profile_of = [&](const std::string&) -> const GpuProfile& { return gpu; };
  out.push_back(std::move(study({&scenario, 1}, profile_of, error).front()));
  return out;
}

std::vector<StudyPoint> larger_counts(const Scenario& scenario,
                                      const GpuProfile& gpu,
                                      const ModelError& error) {
  std::vector<StudyPoint> out;
  for (const std::int64_t times : {2, 4}) {
    std::optional<StudyPoint> point =
        point_with(scenario, times * scenario.cluster.gpus, gpu, error);
    if (point) out.push_back(std::move(*point));
  }
  return out;
}

}  // namespace stepsight
