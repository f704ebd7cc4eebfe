// Which candidates a space has.
#include <algorithm>
#include <numeric>

#include "model/errors.h"
#include "simulate/pipeline_schedule.h"
#include "simulate/plan.h"

namespace stepsight {

namespace {

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d * d != n) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// Those of the given values, or of all divisors, that divide `n` and are at most `most`.
std::vector<std::int64_t> dividing(const std::vector<std::int64_t>& given,
                                   std::int64_t n,
                                   std::int64_t most) {
  std::vector<std::int64_t> out = given.empty() ? divisors(n) : given;
  std::erase_if(out, [&](std::int64_t d) { return d < 1 || n % d != 0 || d > most; });
  return out;
}

template <typename T>
std::vector<T> or_all(const std::vector<T>& given, std::initializer_list<T> all) {
  return given.empty() ? std::vector<T>(all) : given;
}

constexpr std::int64_t long_sequence = 16384;  // from here on context parallelism is tried, too

class Enumeration {
 public:
  explicit Enumeration(const PlanSpace& space) : space_(space) {}

  std::vector<PlanCandidate> all() {
    for (std::uint32_t b = 0; b < space_.bases.size(); ++b) {
      candidate_.base = b;
      base_ = &space_.bases[b];
      for (const std::int64_t gpus : space_.gpus) {
        candidate_.gpus = static_cast<std::int32_t>(gpus);
        splits(gpus);
      }
    }
    return std::move(found_);
  }

 private:
  void splits(std::int64_t gpus) {
    const ModelShape& model = base_->model;
    const std::vector<std::int64_t> one{1};
    const bool contexts = !space_.context.empty() || base_->training.seq >= long_sequence;
    for (const std::int64_t t :
         dividing(space_.tensor, gpus, std::max<std::int64_t>(1, model.heads))) {
      for (const std::int64_t c : contexts ? dividing(space_.context, gpus / t, 64) : one) {
        for (const std::int64_t p :
             dividing(space_.pipeline, gpus / t / c, std::max<std::int64_t>(1, model.layers))) {
          candidate_.tensor = static_cast<std::int32_t>(t);
          candidate_.context = static_cast<std::int32_t>(c);
          candidate_.pipeline = static_cast<std::int32_t>(p);
          strategies(gpus / t / c / p);
        }
      }
    }
  }

  // `data` ranks see different sequences.
  void strategies(std::int64_t data) {
    const std::int64_t total = base_->training.global_batch;
    if (total % data != 0) return;
    const bool staged = candidate_.pipeline > 1;
    std::vector<Strategy> all = or_all(
        space_.strategies, {Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::fsdp});
    // Nothing is shared out with one rank; stages whose gradients are sharded are not simulated.
    if (data * candidate_.context == 1 && space_.strategies.empty()) all = {Strategy::ddp};
    for (const Strategy s : all) {
      if (staged && shards_gradients(s) && space_.strategies.empty()) continue;
      candidate_.strategy = s;
      for (const std::int64_t e : experts(data)) {
        candidate_.expert = static_cast<std::int32_t>(e);
        schedules(total / data);
      }
    }
  }

  // Ways to share a mixture's experts out to the data-parallel ranks, whole and as many to each.
  [[nodiscard]] std::vector<std::int64_t> experts(std::int64_t data) const {
    const std::int64_t all = base_->model.experts;
    if (all == 0) return {1};
    std::vector<std::int64_t> out = dividing(space_.expert, data, all);
    std::erase_if(out, [&](std::int64_t e) { return all % e != 0; });
    return out;
  }

  // `each` sequences of a step for a rank.
  void schedules(std::int64_t each) {
    const std::vector<PipelineSchedule> all = candidate_.pipeline == 1
                                                  ? std::vector{PipelineSchedule::one_f_one_b}
                                                  : or_all(space_.schedules,
                                                           {PipelineSchedule::one_f_one_b,
                                                            PipelineSchedule::interleaved,
                                                            PipelineSchedule::zero_bubble});
    for (const PipelineSchedule s : all) {
      candidate_.schedule = s;
      for (const std::int64_t v : chunks(s)) {
        candidate_.chunks = static_cast<std::int32_t>(v);
        for (const std::int64_t b : dividing(space_.micro_batch, each, each)) {
          if (s == PipelineSchedule::interleaved && each / b % candidate_.pipeline != 0) continue;
          candidate_.micro_batch = static_cast<std::int32_t>(b);
          activations();
        }
      }
    }
  }

  [[nodiscard]] std::vector<std::int64_t> chunks(PipelineSchedule s) const {
    if (s != PipelineSchedule::interleaved) return {1};
    const std::int64_t layers = base_->model.layers;
    if (layers % candidate_.pipeline != 0) return {};
    std::vector<std::int64_t> out =
        dividing(space_.chunks, layers / candidate_.pipeline, most_pipeline_chunks);
    std::erase(out, 1);
    return out;
  }

  void activations() {
    std::vector<Recompute> all = or_all(space_.recompute, {Recompute::none, Recompute::full});
    // Fused attention keeps no scores that could be computed again.
    if (space_.recompute.empty() && !base_->training.flash_attention) {
      all.push_back(Recompute::selective);
    }
    for (const Recompute r : all) {
      candidate_.recompute = r;
      for (const bool sequence :
           candidate_.tensor > 1 ? or_all(space_.sequence, {false, true}) : std::vector{false}) {
        candidate_.sequence = sequence;
        if (found_.size() == most_candidates) {
          throw UserError("the plan has over " + std::to_string(most_candidates) +
                          " candidates: give fewer values for some keys");
        }
        found_.push_back(candidate_);
      }
    }
  }

  const PlanSpace& space_;
  const Scenario* base_ = nullptr;
  PlanCandidate candidate_;
  std::vector<PlanCandidate> found_;
};

}  // namespace

std::vector<PlanCandidate> candidates_of(const PlanSpace& space) {
  return Enumeration(space).all();
}

Scenario scenario_of(const PlanSpace& space, const PlanCandidate& c) {
  Scenario s = space.bases[c.base];
  s.cluster.gpus = c.gpus;
  if (s.cluster.gpus_per_node > 0) {
    s.cluster.nodes = std::max<std::int64_t>(1, c.gpus / s.cluster.gpus_per_node);
  }
  Parallel& p = s.parallel;
  p.tensor = c.tensor;
  p.context = c.context;
  p.expert = c.expert;
  p.pipeline = c.pipeline;
  p.chunks = c.chunks;
  p.strategy = c.strategy;
  p.schedule = c.schedule;
  p.sequence = c.sequence;
  s.training.recompute = c.recompute;
  if (c.recompute != Recompute::full) s.training.recompute_layers = 0;
  const std::int64_t data = std::int64_t{c.gpus} / c.tensor / c.context / c.pipeline;
  s.training.batch = c.micro_batch;
  s.training.accumulation = s.training.global_batch / (data * c.micro_batch);
  if (c.gpus == 1) s.cluster.link.clear();
  return s;
}

}  // namespace stepsight
