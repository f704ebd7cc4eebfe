#include "simulate/study.h"

#include "model/parallel_layout.h"
#include "simulate/exposed_interval.h"

namespace stepsight {

namespace {

// A step with how sure it is.
struct Answer {
  Scenario scenario;
  Seconds step;
  Uncertainty uncertainty;
};

class Study {
 public:
  Study(const GpuProfile& gpu, const ModelError& error) : gpu_(gpu), error_(error) {}

  [[nodiscard]] Answer answer(Scenario scenario, std::optional<Seconds> known = {}) const {
    Answer out{std::move(scenario), {}, {}};
    out.step = known ? *known : predict_step(out.scenario, gpu_);
    out.uncertainty = uncertainty_of(out.scenario, gpu_, out.step, error_);
    return out;
  }

  [[nodiscard]] ScalingPoint scaling_point(const Answer& base, const Answer& many) const {
    const std::int64_t gpus = many.scenario.cluster.gpus;
    ScalingPoint out;
    out.one_gpu = base.step;
    out.step = many.step;
    out.scaling = scaling(base.step.value,
                          samples_of_step(base.scenario),
                          1,
                          many.step.value,
                          samples_of_step(many.scenario),
                          gpus);
    out.one_gpu_s = base.uncertainty.step;
    out.step_s = many.uncertainty.step;
    out.speedup = ratio_interval(out.scaling.speedup, base.uncertainty, many.uncertainty, error_);
    out.efficiency = scaled(out.speedup, 1 / static_cast<double>(gpus));
    return out;
  }

  [[nodiscard]] std::optional<ScalingPoint> strong_point(const Answer& base,
                                                         const Answer& many) const {
    std::optional<SameWork> pair = same_work_pair(many.scenario);
    if (!pair) return std::nullopt;
    // Only a fixed global batch is more than one GPU's own.
    const bool own = many.scenario.training.global_batch == 0;
    const Answer one = own ? base : answer(std::move(pair->one));
    return scaling_point(
        one, same_step(pair->many, many.scenario) ? many : answer(std::move(pair->many)));
  }

 private:
  const GpuProfile& gpu_;
  const ModelError& error_;
};

// What disturbs a step besides does not change what it waits for messages.
Quantiles exposed_of(const Scenario& scenario,
                     const GpuProfile& gpu,
                     const Prediction& prediction,
                     const Uncertainty& uncertainty,
                     const ModelError& error) {
  if (prediction.communication_s <= 0) return {};
  Scenario regular = scenario;
  regular.irregular = {};
  return exposed_interval(prediction.exposed_s, step_question(regular, gpu), uncertainty, error);
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
  // Shards that lie in host memory are fetched on one GPU, too.
  if (shards_optimizer(p.strategy) && p.offload != Offload::parameters) p.strategy = Strategy::none;
  p.sequence = false;
  one.cluster.gpus = 1;
  if (scenario.cluster.gpus > 1) one.cluster.link.clear();
  return one;
}

// Strong scaling of a scenario whose global batch is fixed compares it with one GPU that does all
// of it; otherwise the work is what one GPU does, shared out.
std::optional<SameWork> same_work_pair(const Scenario& scenario) {
  if (scenario.training.global_batch > 0) return SameWork{on_one_gpu(scenario, true), scenario};
  Scenario one = on_one_gpu(scenario, false);
  const std::optional<Scenario> less = strong_scaling_of(one, data_parallel(scenario));
  if (!less) return std::nullopt;
  Scenario many = scenario;
  many.training = less->training;
  return SameWork{std::move(one), std::move(many)};
}

bool same_step(const Scenario& a, const Scenario& b) {
  return a.training.batch == b.training.batch && a.training.accumulation == b.training.accumulation;
}

std::vector<StudyPoint> study(std::span<const Scenario> points,
                              const ProfileOf& profile_of,
                              const ModelError& error) {
  std::vector<StudyPoint> out;
  out.reserve(points.size());
  for (const Scenario& scenario : points) {
    const GpuProfile& gpu = profile_of(scenario.cluster.gpu);
    const Study ask(gpu, error);
    StudyPoint point;
    point.prediction = predict(scenario, gpu);
    const Answer many = ask.answer(scenario, point.prediction.step);
    const Answer base = ask.answer(on_one_gpu(scenario, false));
    point.weak = ask.scaling_point(base, many);
    point.strong = ask.strong_point(base, many);
    point.uncertainty = many.uncertainty;
    point.exposed_s = exposed_of(scenario, gpu, point.prediction, many.uncertainty, error);
    point.padded_vocabulary = with_padded_vocabulary(scenario, gpu);
    point.scenario = scenario;
    const Quantiles& step = many.uncertainty.step;
    point.money = money_of(scenario, gpu, {point.prediction.step.value, step.p5, step.p95});
    out.push_back(std::move(point));
  }
  return out;
}

}  // namespace stepsight
