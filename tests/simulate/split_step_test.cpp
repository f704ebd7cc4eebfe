// Steps of models that several GPUs share: what waits for messages, what runs beside them, and the
// bounds that hold for any of it.
#include <algorithm>
#include <string_view>
#include <vector>

#include "simulate/step_program.h"
#include "simulate/timeline.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

using namespace stepsight;

namespace {

// A toy GPU without a host to wait for, whose wire knows every collective.
GpuProfile wired_gpu(double busbw_GBps = 100) {
  return with_busbw(with_every_collective(toy_gpu_with_host(0)), busbw_GBps);
}

Scenario split_over(std::int64_t tensor, std::int64_t context = 1) {
  Scenario s = toy_scenario(tensor * context);
  s.parallel.tensor = tensor;
  s.parallel.context = context;
  return s;
}

// Begin and end of every task of a lane with that text and phase, in order.
std::vector<Interval> times(const StepProgram& step,
                            const Timeline& timeline,
                            LaneId lane,
                            std::string_view text,
                            Phase phase) {
  std::vector<Interval> out;
  const auto& tasks = step.program.tasks();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskLabel& label = step.labels[tasks[i].label];
    if (tasks[i].lane != index(lane) || label.text != text || label.phase != phase) continue;
    out.push_back({timeline.start[i], timeline.end[i]});
  }
  return out;
}

}  // namespace

TEST_CASE("without messages a split step takes at least its share of the whole one") {
  const GpuProfile gpu = wired_gpu();
  const Without silent{.communication = true, .slow_down = true};
  const double whole = step_of(toy_scenario(1), gpu, silent);
  for (const std::int64_t ranks : {2, 4, 8}) {
    for (const bool sequence : {false, true}) {
      Scenario s = split_over(ranks);
      s.parallel.sequence = sequence;
      INFO("tensor " << ranks << " sequence " << sequence);
      CHECK(step_of(s, gpu, silent) >= whole / static_cast<double>(ranks));
      CHECK(step_of(s, gpu, silent) < whole);
    }
    for (const ContextMode mode :
         {ContextMode::ring, ContextMode::all_gather, ContextMode::all_to_all}) {
      Scenario s = split_over(1, ranks);
      s.parallel.context_mode = mode;
      INFO("context " << ranks);
      CHECK(step_of(s, gpu, silent) >= whole / static_cast<double>(ranks));
      CHECK(step_of(s, gpu, silent) < whole);
    }
  }
}

TEST_CASE("a faster wire is never slower for a split model, and free ones bound it") {
  for (const bool sequence : {false, true}) {
    Scenario s = split_over(4);
    s.parallel.sequence = sequence;
    const Without steady{.slow_down = true};
    double before = step_of(s, wired_gpu(10), steady);
    for (const double busbw : {30.0, 100.0, 1000.0}) {
      const double now = step_of(s, wired_gpu(busbw), steady);
      CHECK(now < before);
      before = now;
    }
    CHECK(step_of(s, wired_gpu(), {.communication = true, .slow_down = true}) < before);
  }
}

TEST_CASE("summing input gradients beside weight gradients saves time, at most all of the sum's") {
  Scenario s = split_over(4);
  s.training.batch = 16;
  const GpuProfile gpu = wired_gpu();
  for (const bool sequence : {false, true}) {
    s.parallel.sequence = sequence;
    s.parallel.overlap_tensor = true;
    const double beside = step_of(s, gpu, {.slow_down = true});
    s.parallel.overlap_tensor = false;
    const double apart = step_of(s, gpu, {.slow_down = true});
    CHECK(beside < apart);
    CHECK(beside > step_of(s, gpu, {.communication = true, .slow_down = true}));
  }
}

TEST_CASE("a weight gradient waits for its gathered input and runs beside the sum of the other") {
  Scenario s = split_over(4);
  s.model.fused_qkv = s.model.fused_gate_up = true;
  s.parallel.sequence = true;
  const StepProgram step = program_of(s, wired_gpu(5), {.slow_down = true});
  const Timeline timeline = run(step.program, step.machine);
  const auto products = times(step, timeline, step.compute, "qkv", Phase::backward);
  const auto messages = times(step, timeline, step.exchange, "qkv", Phase::backward);
  REQUIRE(products.size() == 2 * 2 * 8);  // input and weight gradient, two steps of eight blocks
  REQUIRE(messages.size() == products.size());
  for (std::size_t i = 0; i < products.size(); i += 2) {
    const Interval gather = messages[i];
    const Interval scatter = messages[i + 1];
    CHECK(products[i].begin < gather.end);       // the input gradient does not need it
    CHECK(scatter.begin >= products[i].end);     // it is what is summed
    CHECK(products[i + 1].begin >= gather.end);  // the weight gradient does
    CHECK(products[i + 1].begin < scatter.end);  // but not the sum
  }
}

TEST_CASE("recomputing fewer blocks takes less time, from all of them down to none") {
  const GpuProfile gpu = wired_gpu();
  Scenario s = split_over(2);
  for (const Strategy strategy : {Strategy::ddp, Strategy::fsdp}) {
    s.cluster.gpus = 4;
    s.parallel.strategy = strategy;
    s.training.recompute = Recompute::none;
    const double none = step_of(s, gpu, {.slow_down = true});
    s.training.recompute = Recompute::full;
    s.training.recompute_layers = 0;
    const double all = step_of(s, gpu, {.slow_down = true});
    double before = all;
    for (const std::int64_t layers : {6, 3, 1}) {
      s.training.recompute_layers = layers;
      const double now = step_of(s, gpu, {.slow_down = true});
      CHECK(now < before);
      CHECK(now > none);
      before = now;
    }
    s.training.recompute_layers = s.model.layers;
    CHECK(step_of(s, gpu, {.slow_down = true}) == all);
  }
}

TEST_CASE("ring attention works on a block while the next one travels") {
  Scenario s = split_over(1, 4);
  for (const double busbw : {1.0, 100000.0}) {
    const StepProgram step = program_of(s, wired_gpu(busbw), {.slow_down = true});
    const Timeline timeline = run(step.program, step.machine);
    const auto blocks = times(step, timeline, step.compute, "attention", Phase::forward);
    const auto messages = times(step, timeline, step.exchange, "keys and values", Phase::forward);
    REQUIRE(blocks.size() == 2 * 8 * 4);
    REQUIRE(messages.size() == 2 * 8 * 3);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const std::size_t at = i / 3 * 4 + i % 3;
      CHECK(blocks[at].begin < messages[i].end);
      CHECK(blocks[at + 1].begin >= messages[i].end);
    }
  }
}

TEST_CASE("the ranks' own sums of replicated gradients are added up once a step") {
  Scenario s = split_over(4);
  s.training.accumulation = 3;
  const auto sums = [&] {
    const StepProgram step = program_of(s, wired_gpu());
    const Timeline timeline = run(step.program, step.machine);
    return times(step, timeline, step.exchange, "partial gradients", Phase::optimizer).size();
  };
  CHECK(sums() == 0);
  s.parallel.sequence = true;
  CHECK(sums() == 2);
}

TEST_CASE("utilisation counts the whole model over all GPUs that share it") {
  const GpuProfile gpu = wired_gpu();
  for (const auto& [tensor, context] : {std::pair{2, 1}, {1, 4}, {4, 2}}) {
    Scenario s = split_over(tensor, context);
    s.cluster.gpus = 8;
    s.training.accumulation = 2;
    const Prediction p = predict(s, gpu);
    const double replicas = 8.0 / (tensor * context);
    const double whole = step_work(s.model, s.training).model_flops.value * replicas * 2;
    CHECK(p.mfu == Approx(whole / p.step.value / (8 * 800e12)));
    CHECK(p.samples_per_s == Approx(replicas * 2 * 4 / p.step.value));
  }
}

TEST_CASE("the parts of a split step add up to it") {
  const GpuProfile gpu = wired_gpu();
  for (const auto& [tensor, context] : {std::pair{8, 1}, {1, 8}, {2, 2}}) {
    Scenario s = split_over(tensor, context);
    s.cluster.gpus = 8;
    s.parallel.sequence = true;
    const Prediction p = predict(s, gpu);
    const Attribution& a = p.attribution;
    CHECK(a.alone + a.bucket_copies + a.slow_down + a.exposed == Approx(p.step.value));
    CHECK(a.exposed > 0);
    CHECK(a.alone ==
          Approx(step_of(s, gpu, {.communication = true, .slow_down = true, .sync_copies = true})));
  }
}

TEST_CASE("replicas of a split model sum their gradients over the ranks that hold the same part") {
  Scenario s = split_over(2, 2);
  s.cluster.gpus = 8;
  const GpuProfile gpu = wired_gpu();
  const StepProgram split = program_of(s, gpu);
  // bf16 gradients of the rank's part.
  CHECK(split.message_bytes == Approx(2.0 * static_cast<double>(step_work(s).parameters)));
  s.parallel.strategy = Strategy::fsdp;
  CHECK(step_of(s, gpu) > 0);
  CHECK(program_of(s, gpu).message_bytes ==
        Approx(3 * split.message_bytes).epsilon(0.2));  // but for the unit that stays gathered
}
