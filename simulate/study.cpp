#include "simulate/study.h"

#include "model/parallel_layout.h"

namespace stepsight {

namespace {

double work_of(const Scenario& s) {
  return static_cast<double>(data_parallel(s) * s.training.batch * s.training.accumulation);
}

ScalingPoint scaling_point(const Scenario& base, const Scenario& scenario, Seconds step,
                           const GpuProfile& gpu) {
  ScalingPoint out;
  out.one_gpu = predict_step(base, gpu);
  out.step = step;
  out.scaling = scaling(out.one_gpu.value, work_of(base), 1, step.value, work_of(scenario),
                        scenario.cluster.gpus);
  return out;
}

// Strong scaling of a scenario whose global batch is fixed compares it with one GPU that does all of
// it; otherwise the work is what one GPU does, shared out.
std::optional<ScalingPoint> strong_point(const Scenario& scenario, Seconds step,
                                         const GpuProfile& gpu) {
  if (scenario.training.global_batch > 0) {
    return scaling_point(on_one_gpu(scenario, true), scenario, step, gpu);
  }
  const Scenario base = on_one_gpu(scenario, false);
  const std::optional<Scenario> less = strong_scaling_of(base, data_parallel(scenario));
  if (!less) return std::nullopt;
  Scenario shared = scenario;
  shared.training = less->training;
  return scaling_point(base, shared, predict_step(shared, gpu), gpu);
}

std::optional<Seconds> with_padded_vocabulary(const Scenario& scenario, const GpuProfile& gpu) {
  constexpr std::int64_t multiple = 64;
  if (scenario.model.vocab % 8 == 0) return std::nullopt;
  Scenario padded = scenario;
  padded.model.vocab = (padded.model.vocab + multiple - 1) / multiple * multiple;
  return predict_step(padded, gpu);
}

}  // namespace

Scenario on_one_gpu(const Scenario& scenario, bool same_work) {
  Scenario one = scenario;
  if (same_work) one.training.accumulation *= data_parallel(scenario);
  Parallel& p = one.parallel;
  p.tensor = p.context = p.expert = p.pipeline = p.chunks = 1;
  p.shard_group = 0;
  if (shards_optimizer(p.strategy)) p.strategy = Strategy::none;
  p.sequence = false;
  one.cluster.gpus = 1;
  if (scenario.cluster.gpus > 1) one.cluster.link.clear();
  return one;
}

std::vector<StudyPoint> study(std::span<const Scenario> points, const ProfileOf& profile_of) {
  std::vector<StudyPoint> out;
  out.reserve(points.size());
  for (const Scenario& scenario : points) {
    const GpuProfile& gpu = profile_of(scenario.cluster.gpu);
    StudyPoint point;
    point.scenario = scenario;
    point.prediction = predict(scenario, gpu);
    const Seconds step = point.prediction.step;
    point.weak = scaling_point(on_one_gpu(scenario, false), scenario, step, gpu);
    point.strong = strong_point(scenario, step, gpu);
    point.padded_vocabulary = with_padded_vocabulary(scenario, gpu);
    out.push_back(std::move(point));
  }
  return out;
}

}  // namespace stepsight
