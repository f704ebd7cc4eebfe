// Steps whose experts are shared out: who reduces which gradients, what travels, what a card holds.
#include <algorithm>

#include "model/moe.h"
#include "simulate/memory.h"
#include "simulate/pipeline_step.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

using namespace stepsight;

namespace {

// The toy llama with eight experts, two a token.
Scenario mixture(std::int64_t gpus, std::int64_t expert) {
  Scenario s = toy_scenario(gpus);
  s.model.experts = 8;
  s.model.experts_per_token = 2;
  s.model.expert_ffn = 1024;
  s.training.batch = 1;
  s.parallel.expert = expert;
  return s;
}

GpuProfile wired_gpu(double busbw_GBps = 100) {
  return with_busbw(with_every_collective(toy_gpu_with_host(0)), busbw_GBps);
}

TimedStep timed(const Scenario& s, const GpuProfile& gpu) {
  const StepWork work = step_work(s);
  const StepCosts costs = cost_step(work, s.training.precision, gpu);
  const StepLinks links = resolve_links(gpu, s, work);
  return time_step({work, costs, s, gpu, links});
}

double bytes_of(const TimedStep& step, GradientGroup group) {
  double sum = 0;
  for (const Bucket& b : step.buckets) sum += b.group == group ? b.bytes : 0;
  return sum;
}

Memory memory(const Scenario& s) {
  return peak_memory_of(step_work(s), s, toy_gpu(), true);
}

}  // namespace

TEST_CASE("experts' gradients fill buckets of their own, and close them in the order of backward") {
  const std::vector<double> bytes{10, 20, 30, 40, 50};
  using enum GradientGroup;
  const std::vector<GradientGroup> groups{data, experts, data, none, experts};
  const auto buckets = gradient_buckets(bytes, {10, 45}, groups);
  REQUIRE(buckets.size() == 4);
  CHECK(buckets[0].last_tensor == 0);  // the first small one
  CHECK(buckets[1].last_tensor == 1);  // the experts' first small one
  CHECK(buckets[2].last_tensor == 2);
  CHECK(buckets[2].group == data);
  CHECK(buckets[3].last_tensor == 4);
  CHECK(buckets[3].bytes == 50);
  CHECK(buckets[3].group == experts);
}

TEST_CASE("experts are reduced among those that hold them, the rest among all") {
  const GpuProfile gpu = wired_gpu();
  const auto all = static_cast<double>(parameter_count(mixture(8, 1).model)) * 2;
  const double of_experts = expert_parameters(mixture(8, 1).model) * 2;
  CHECK(bytes_of(timed(mixture(8, 1), gpu), GradientGroup::data) == all);
  const TimedStep shared = timed(mixture(8, 4), gpu);
  CHECK(bytes_of(shared, GradientGroup::data) == all - of_experts);
  CHECK(bytes_of(shared, GradientGroup::experts) == of_experts / 4);
  // Nobody else holds the same ones: nothing to reduce, and no copies.
  const TimedStep alone = timed(mixture(8, 8), gpu);
  CHECK(bytes_of(alone, GradientGroup::experts) == 0);
  CHECK(bytes_of(alone, GradientGroup::data) == all - of_experts);
}

TEST_CASE(
    "every strategy runs with experts shared out, and none of them is quicker on a slower wire") {
  for (const Strategy strategy :
       {Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::fsdp}) {
    for (const std::int64_t expert : {2, 4, 8}) {
      for (const bool overlap : {true, false}) {
        Scenario s = mixture(8, expert);
        s.parallel.strategy = strategy;
        s.parallel.overlap = overlap;
        INFO("strategy " << static_cast<int>(strategy) << " over " << expert);
        const double fast = step_of(s, wired_gpu(400));
        const double slow = step_of(s, wired_gpu(20));
        CHECK(fast > 0);
        CHECK(slow > fast);
      }
    }
  }
}

TEST_CASE("tokens that travel to their experts take what the messages take") {
  // Without host, overlap and gradients' exchange a step is its kernels and its messages.
  Scenario s = mixture(8, 8);
  s.parallel.overlap = false;
  s.parallel.strategy = Strategy::zero1;
  const GpuProfile gpu = wired_gpu();
  const double with = step_of(s, gpu);
  const double silent = step_of(s, gpu, {.communication = true});
  const TimedStep step = timed(s, gpu);
  double messages = to_seconds(step.gather_updated.kernel).value;
  for (const Timed& bucket : step.bucket) messages += to_seconds(bucket.kernel).value;
  for (const auto* list : {&step.block.forward_exchanges, &step.block.backward_exchanges}) {
    for (const TimedExchange& e : *list) messages += 8 * to_seconds(e.message.kernel).value;
  }
  CHECK(with - silent == Approx(messages).epsilon(1e-6));
}

TEST_CASE("a host that asks how many tokens go where cannot run ahead, unless all are padded") {
  // With a host much quicker than the card only the wait counts: each dispatch is issued after the
  // router.
  const GpuProfile quick = with_every_collective(toy_gpu_with_host(1));
  Scenario s = mixture(8, 8);
  const StepWork work = step_work(s);
  CHECK(work.block.forward_exchanges.front().stops_host);
  CHECK_FALSE(work.block.forward_exchanges.back().stops_host);
  const auto issued_early = [&](const Scenario& asked) {
    const StepProgram step = program_of(asked, quick);
    const Timeline timeline = run(step.program, step.machine);
    const auto& tasks = step.program.tasks();
    std::size_t early = 0;
    for (std::size_t i = 1; i < tasks.size(); ++i) {
      const TaskLabel& label = step.labels[tasks[i].label];
      if (tasks[i].lane != index(step.host) || label.text != "dispatch" ||
          label.kind != WorkKind::communication) {
        continue;
      }
      // The compute task before it in the program.
      std::size_t before = i;
      while (before > 0 && tasks[before].lane != index(step.compute)) --before;
      if (timeline.start[i] < timeline.end[before]) ++early;
    }
    return early;
  };
  CHECK(issued_early(s) == 0);
  s.model.capacity_factor = 1.25;
  CHECK(issued_early(s) > 0);
}

TEST_CASE("an uneven router makes no step shorter") {
  const GpuProfile gpu = wired_gpu();
  double before = 0;
  for (const double imbalance : {1.0, 1.1, 1.5, 3.0}) {
    Scenario s = mixture(8, 4);
    s.parallel.expert_imbalance = imbalance;
    const double step = step_of(s, gpu);
    CHECK(step > before);
    before = step;
  }
}

TEST_CASE("a card holds its experts' parameters, gradients and states, and no others") {
  for (const Strategy strategy :
       {Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::fsdp}) {
    Scenario s = mixture(8, 1);
    s.parallel.strategy = strategy;
    const double all = static_cast<double>(parameter_count(s.model));
    const double experts = expert_parameters(s.model);
    for (const std::int64_t expert : {1, 2, 4, 8}) {
      s.parallel.expert = expert;
      const Memory m = memory(s);
      const auto ranks = static_cast<double>(expert);
      const bool sharded = shards_optimizer(strategy);
      const double usual = (all - experts) / (sharded ? 8 : 1);
      // Shared out by expert and, among those that hold the same, by shard: an eighth either way.
      const double own = sharded ? experts / 8 : experts / ranks;
      CHECK(m.optimizer == Approx((usual + own) * 4));
      const bool whole = !shards_parameters(strategy);
      CHECK(m.parameters == Approx((whole ? all - experts + experts / ranks : usual + own) * 2));
    }
  }
}

TEST_CASE("sharing experts out needs less memory where every rank would hold them all") {
  double before = memory(mixture(8, 1)).needed;
  for (const std::int64_t expert : {2, 4, 8}) {
    const double needed = memory(mixture(8, expert)).needed;
    CHECK(needed < before);
    before = needed;
  }
}

TEST_CASE("layers without experts stand on the first stage, and all stages have as many layers") {
  Scenario s = mixture(8, 2);
  s.model.dense_layers = 1;
  s.parallel.pipeline = 4;
  s.training.accumulation = 4;
  CHECK(blocks_at(7, 1, 4, 0) == 1);
  CHECK(blocks_at(7, 1, 4, 1) == 2);
  CHECK(blocks_at(7, 1, 4, 3) == 2);
  const GpuProfile gpu = wired_gpu();
  const StepWork work = step_work(s);
  const StepCosts costs = cost_step(work, s.training.precision, gpu);
  const StepLinks links = resolve_links(gpu, s, work);
  const StepParts parts{work, costs, s, gpu, links};
  const TimedStep step = time_step(parts);
  const auto with = run_stages(build_stages(parts, step), step_machine(gpu));
  Scenario alone = s;
  alone.parallel.expert = 1;
  CHECK(with.step.value > 0);
  CHECK(predict_step(s, gpu).value == Approx(with.step.value));
  // Half of the experts' gradients are exchanged by half as many ranks; tokens travel instead.
  CHECK(predict_step(alone, gpu).value != Approx(with.step.value));
}
