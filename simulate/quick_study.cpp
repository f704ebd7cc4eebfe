#include "simulate/quick_study.h"

#include <map>
#include <memory>

#include "simulate/money.h"
#include "simulate/ordered_workers.h"

namespace stepsight {

namespace {

// One thread's own: it remembers what it priced.
class Worker {
 public:
  QuickPoint point(const Scenario& s, const GpuProfile& gpu) {
    auto& quick = predictors_[&gpu];
    if (!quick) quick = std::make_unique<QuickPredictor>(gpu);
    QuickPoint out{s, quick->predict(s), {}, {}};
    // One run of a step does not tell what its stages or its slowest rank wait for.
    if (s.parallel.pipeline > 1 || s.irregular.any())
      out.prediction.exposed_s = predict(s, gpu).exposed_s;
    const Scenario one = on_one_gpu(s, false);
    const double alone = quick->predict(one).step.value;
    const double step = out.prediction.step.value;
    const std::int64_t gpus = s.cluster.gpus;
    out.weak = scaling(alone, samples_of_step(one), 1, step, samples_of_step(s), gpus);
    if (const auto pair = same_work_pair(s)) {
      const double all = s.training.global_batch > 0 ? quick->predict(pair->one).step.value : alone;
      const double shared = same_step(pair->many, s) ? step : quick->predict(pair->many).step.value;
      out.strong =
          scaling(all, samples_of_step(pair->one), 1, shared, samples_of_step(pair->many), gpus);
    }
    return out;
  }

 private:
  std::map<const GpuProfile*, std::unique_ptr<QuickPredictor>> predictors_;
};

}  // namespace

std::vector<QuickPoint> quick_study(std::span<const Scenario> points,
                                    const ProfileOf& profile_of,
                                    unsigned threads) {
  std::vector<const GpuProfile*> gpus;  // read before the threads start
  for (const Scenario& s : points) gpus.push_back(&profile_of(s.cluster.gpu));
  std::vector<QuickPoint> out(points.size());
  OrderedWork work;
  work.end = points.size();
  work.chunk = 16;
  work.threads = threads;
  work.make_worker = [&]() -> ItemsToText {
    return [&, worker = std::make_shared<Worker>()](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) out[i] = worker->point(points[i], *gpus[i]);
      return std::string();
    };
  };
  work.take = [](const std::string&, std::uint64_t) {};
  run_in_order(work);
  return out;
}

}  // namespace stepsight
