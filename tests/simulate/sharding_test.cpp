// Sharded strategies: what travels, when, and what it costs.
#include <algorithm>
#include <string_view>

#include "simulate/step_program.h"
#include "simulate/timeline.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

using namespace stepsight;

namespace {

// A toy GPU whose link knows gathers and scatters, too.
GpuProfile linked_gpu() {
  return with_every_collective(toy_gpu());
}

Scenario sharded(Strategy strategy, std::int64_t gpus = 4) {
  Scenario s = toy_scenario(gpus);
  s.parallel.strategy = strategy;
  return s;
}

std::ptrdiff_t count(const StepProgram& step, std::string_view text) {
  return std::ranges::count_if(step.program.tasks(), [&](const Task& t) {
    return t.lane == index(step.communication) && step.labels[t.label].text == text;
  });
}

// Bytes on the wire of each rank for a message: all-reduce twice what a gather or a scatter moves.
double wire(const StepProgram& step, const Scenario& s) {
  const double all = 2.0 * static_cast<double>(parameter_count(s.model));
  return step.message_bytes / all;
}

}  // namespace

TEST_CASE("ZeRO-3 moves one and a half times the bytes of DDP, but for the unit that stays") {
  Scenario s = sharded(Strategy::fsdp);
  s.model.layers = 200;  // so that embedding and head hardly count
  const StepProgram fsdp = program_of(s, linked_gpu());
  s.parallel.strategy = Strategy::ddp;
  const StepProgram ddp = program_of(s, linked_gpu());
  // A gather or a scatter of a message moves half the bytes of its all-reduce.
  CHECK(wire(fsdp, s) / (2 * wire(ddp, s)) == Approx(1.5).epsilon(0.02));
}

TEST_CASE("ZeRO-1 and ZeRO-2 move as much as DDP") {
  for (const Strategy strategy : {Strategy::zero1, Strategy::zero2}) {
    const Scenario s = sharded(strategy);
    const StepProgram zero = program_of(s, linked_gpu());
    CHECK(wire(zero, s) == Approx(2.0));
    CHECK(count(zero, "gather updated parameters") == 2);  // once in each of two steps
  }
}

TEST_CASE("a unit is gathered in forward and again in backward, and scattered once") {
  Scenario s = sharded(Strategy::fsdp);
  const auto blocks = static_cast<std::ptrdiff_t>(s.model.layers);
  const StepProgram step = program_of(s, linked_gpu());
  CHECK(count(step, "gather parameters") == 2 * (2 * blocks + 1));
  CHECK(count(step, "scatter gradients") == 2 * (blocks + 1));
  s.parallel.reshard_after_forward = false;
  CHECK(count(program_of(s, linked_gpu()), "gather parameters") == 2 * (blocks + 1));
  s.parallel.unit_layers = s.model.layers;
  CHECK(count(program_of(s, linked_gpu()), "gather parameters") == 2 * 2);
}

TEST_CASE("units of several blocks cover every block once, whatever remains") {
  Scenario s = sharded(Strategy::fsdp);
  s.model.layers = 7;
  const GpuProfile gpu = linked_gpu();
  const double all = program_of(s, gpu).message_bytes;
  for (const std::int64_t each : {2, 3, 7, 50}) {
    s.parallel.unit_layers = each;
    const StepProgram step = program_of(s, gpu);
    CHECK(step.message_bytes == Approx(all));
    CHECK(count(step, "scatter gradients") == 2 * ((7 + each - 1) / each + 1));
  }
}

TEST_CASE("gathering ahead is never slower, and never hides more than all of it") {
  const GpuProfile gpu = linked_gpu();
  Scenario s = sharded(Strategy::fsdp);
  s.training.batch = 64;
  s.parallel.prefetch = 0;
  double before = step_of(s, gpu);
  const double free = step_of(s, gpu, {.communication = true});
  for (const std::int64_t ahead : {1, 2, 4}) {
    s.parallel.prefetch = ahead;
    const double now = step_of(s, gpu);
    // Which kernels lie beside a gather changes, and some are slowed more than others.
    CHECK(now <= before * (1 + 1e-3));
    CHECK(now >= free * (1 - 1e-9));
    before = now;
  }
}

TEST_CASE("one GPU has nothing to shard: its step is that of no strategy at all") {
  const GpuProfile gpu = linked_gpu();
  const double plain = step_of(sharded(Strategy::none, 1), gpu);
  for (const Strategy strategy : {Strategy::ddp, Strategy::zero1, Strategy::zero2}) {
    CHECK(step_of(sharded(strategy, 1), gpu) == plain);
  }
}

TEST_CASE("sharded parameters are copied with one rank, too, and cast where they are held wider") {
  const GpuProfile gpu = linked_gpu();
  const double plain = step_of(sharded(Strategy::none, 1), gpu);
  Scenario alone = sharded(Strategy::fsdp, 1);
  const double copied = step_of(alone, gpu);
  CHECK(copied > plain);
  alone.training.precision.mixed = true;
  CHECK(step_of(alone, gpu) > copied);
}

TEST_CASE("DDP copies what came back into the gradients, after backward and bucket by bucket") {
  const GpuProfile gpu = linked_gpu();
  const auto copies_back = [&](const Scenario& s) {
    const StepProgram step = program_of(s, gpu);
    return std::ranges::count_if(step.program.tasks(), [&](const Task& t) {
      return t.lane == index(step.compute) && step.labels[t.label].text == "copy back from bucket";
    });
  };
  Scenario s = sharded(Strategy::ddp);
  CHECK(copies_back(s) == 2 * static_cast<std::ptrdiff_t>(program_of(s, gpu).buckets));
  CHECK(copies_back(sharded(Strategy::fsdp)) == 0);
  CHECK(copies_back(sharded(Strategy::ddp, 1)) == 0);
  s = sharded(Strategy::ddp, 1);
  s.cluster.link = "loopback:1";
  CHECK(copies_back(s) == 0);
}

TEST_CASE("hybrid sharding gathers within the group and sums between replicas") {
  Scenario s = sharded(Strategy::fsdp);
  const GpuProfile gpu = linked_gpu();
  s.parallel.shard_group = 2;
  const StepProgram hybrid = program_of(s, gpu);
  CHECK(count(hybrid, "replicas' gradients") == count(hybrid, "scatter gradients"));
  s.parallel.shard_group = 4;
  CHECK(count(program_of(s, gpu), "replicas' gradients") == 0);
}

TEST_CASE("accumulation without a sync scatters once; with one it scatters each micro-step") {
  Scenario s = sharded(Strategy::fsdp);
  s.training.accumulation = 3;
  const GpuProfile gpu = linked_gpu();
  const auto once = count(program_of(s, gpu), "scatter gradients");
  s.parallel.sync_each_micro_step = true;
  CHECK(count(program_of(s, gpu), "scatter gradients") == 3 * once);
}

TEST_CASE("each rank updates its shard: the optimizer's time falls with the ranks") {
  const GpuProfile gpu = linked_gpu();
  Scenario s = sharded(Strategy::ddp);
  const auto update = [&](Strategy strategy) {
    s.parallel.strategy = strategy;
    return program_of(s, gpu).kernel_seconds[static_cast<std::size_t>(WorkKind::optimizer)];
  };
  CHECK(update(Strategy::fsdp) < 0.5 * update(Strategy::ddp));
  CHECK(update(Strategy::zero1) == update(Strategy::fsdp));
}
