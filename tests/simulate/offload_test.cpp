// States and activations in host memory: what crosses PCIe, what the host computes, what a card
// holds.
#include <algorithm>

#include "model/io/profile_file.h"
#include "model/scenario_rules.h"
#include "simulate/host_memory.h"
#include "simulate/memory.h"
#include "simulate/quick_predict.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

using namespace stepsight;

namespace {

constexpr double giga = 1e9;

GpuProfile card(double pcie_GBps = 25) {
  GpuProfile gpu = with_every_collective(toy_gpu_with_host(0));
  for (CopyParameters<double>* copy : {&gpu.host_to_device, &gpu.device_to_host}) {
    copy->latency_us = 0;
    copy->bandwidth_GBps = pcie_GBps;
  }
  return gpu;
}

Scenario offloading(Offload what, Strategy strategy, std::int64_t gpus = 8) {
  Scenario s = toy_scenario(gpus);
  s.parallel.strategy = strategy;
  s.parallel.offload = what;
  return s;
}

Memory memory(const Scenario& s) {
  return peak_memory_of(step_work(s), s, toy_gpu(), s.cluster.gpus > 1);
}

// Bytes that cross on a lane in a steady step.
double crossed(const StepProgram& step, LaneId lane, double GBps) {
  double sum = 0;
  for (std::size_t i = index(step.step_end[0]) + 1; i <= index(step.step_end[1]); ++i) {
    const Task& t = step.program.tasks()[i];
    if (t.lane == index(lane)) sum += to_seconds(t.work).value * GBps * giga;
  }
  return sum;
}

}  // namespace

TEST_CASE(
    "the host updates as many bytes as the card would, at its memory's rate for all ranks "
    "together") {
  Scenario s = offloading(Offload::optimizer, Strategy::zero2);
  s.cluster.host_memory_GBps = 100;
  const StepWork work = step_work(s);
  double bytes_of_rank = 0;
  for (const Operator& op : work.optimizer) {
    const Pass& pass = std::get<Pass>(op.work);
    if (pass.kind != PassKind::cast_up && pass.kind != PassKind::cast_down) {
      bytes_of_rank += bytes(pass).value;
    }
  }
  const double time = host_update_time(work, card(), s.cluster).value;
  CHECK(time == Approx(8 * bytes_of_rank / (100 * giga)));
  s.cluster.nodes = 4;  // two ranks a machine
  CHECK(host_update_time(work, card(), s.cluster).value == Approx(time / 4));
}

TEST_CASE("ten billion parameters take two Xeon 8168 what CPU-Adam took") {
  // Ren et al. 2021 (ZeRO-Offload), table 4: 2.57 s. Their machine's cards have PCIe 3.
  GpuProfile gpu = toy_gpu();
  gpu.pcie_GBps = 16;
  Scenario s = toy_scenario(1);
  s.training.precision = {Dtype::fp16, false, true};
  StepWork work = step_work(s);
  const double scale = 10e9 / static_cast<double>(work.parameters);
  CHECK(scale * host_update_time(work, gpu, s.cluster).value == Approx(2.57).epsilon(0.4));
}

TEST_CASE("gradients cross once to the host, and parameters once back") {
  const double pcie = 25;
  for (const Strategy strategy : {Strategy::zero1, Strategy::zero2, Strategy::fsdp}) {
    const Scenario s = offloading(Offload::optimizer, strategy);
    const StepProgram step = program_of(s, card(pcie));
    const double share = static_cast<double>(parameter_count(s.model)) * 2 / 8;
    INFO("strategy " << static_cast<int>(strategy));
    CHECK(crossed(step, step.to_host, pcie) == Approx(share).epsilon(1e-6));
    CHECK(crossed(step, step.from_host, pcie) == Approx(share).epsilon(1e-6));
  }
  const Scenario one = offloading(Offload::optimizer, Strategy::ddp, 1);
  const StepProgram alone = program_of(one, card(pcie));
  CHECK(crossed(alone, alone.to_host, pcie) ==
        Approx(static_cast<double>(parameter_count(one.model)) * 2).epsilon(1e-6));
}

TEST_CASE("shards in host memory cross before each gather") {
  const double pcie = 25;
  Scenario s = offloading(Offload::parameters, Strategy::fsdp);
  const StepProgram step = program_of(s, card(pcie));
  const double share = static_cast<double>(parameter_count(s.model)) * 2 / 8;
  const double root =
      static_cast<double>(2 * s.model.vocab * s.model.hidden + s.model.hidden) * 2 / 8;
  // Blocks forward and backward, the root once.
  CHECK(crossed(step, step.from_host, pcie) == Approx(2 * share - root).epsilon(1e-6));
  CHECK(crossed(step, step.to_host, pcie) == Approx(share).epsilon(1e-6));
}

TEST_CASE(
    "a faster PCIe is never slower, and without any time for copies activations cost nothing") {
  for (const Offload what : {Offload::optimizer, Offload::parameters, Offload::activations}) {
    Scenario s = offloading(what, Strategy::fsdp);
    Scenario here = s;
    here.parallel.offload = Offload::none;
    const Without at_full_rate{.slow_down = true};
    double before = 1e9;
    for (const double pcie : {1.0, 6.0, 25.0, 100.0, 1e6}) {
      const double step = step_of(s, card(pcie), at_full_rate);
      CHECK(step <= before * (1 + 1e-9));
      before = step;
    }
    if (what == Offload::activations) {
      CHECK(before == Approx(step_of(here, card(), at_full_rate)).epsilon(1e-3));
    }
  }
}

TEST_CASE("a host with more memory bandwidth makes the update shorter by what it says") {
  Scenario s = offloading(Offload::optimizer, Strategy::zero2);
  s.cluster.host_memory_GBps = 50;
  const double slow = step_of(s, card());
  const double update = host_update_time(step_work(s), card(), s.cluster).value;
  s.cluster.host_memory_GBps = 100;
  CHECK(slow - step_of(s, card()) == Approx(update / 2).epsilon(0.01));
}

TEST_CASE("what lies in host memory is not on the card") {
  for (const Strategy strategy : {Strategy::zero1, Strategy::zero2, Strategy::fsdp}) {
    const Memory here = memory(offloading(Offload::none, strategy));
    const Memory there = memory(offloading(Offload::optimizer, strategy));
    CHECK(there.optimizer == 0);
    CHECK(there.needed < here.needed);
    CHECK(there.host ==
          Approx(here.optimizer + static_cast<double>(parameter_count(toy_llama())) * 2 / 8));
    CHECK(here.host == 0);
  }
  const Memory shards = memory(offloading(Offload::parameters, Strategy::fsdp));
  CHECK(shards.parameters == 0);
  CHECK(shards.needed < memory(offloading(Offload::optimizer, Strategy::fsdp)).needed);
  Scenario s = offloading(Offload::none, Strategy::ddp);
  const Memory kept = memory(s);
  s.parallel.offload = Offload::activations;
  const Memory gone = memory(s);
  CHECK(gone.activations < 0.6 * kept.activations);
  CHECK(gone.needed < kept.needed);
  CHECK(gone.host > 0.7 * kept.activations);
}

TEST_CASE("offloading is asked of the engine, and its quick figures are the same") {
  const GpuProfile gpu = card();
  QuickPredictor quick(gpu);
  for (const Offload what : {Offload::optimizer, Offload::parameters, Offload::activations}) {
    const Scenario s = offloading(what, Strategy::fsdp);
    CHECK(quick.predict(s).step.value == predict_step(s, gpu).value);
    CHECK(quick.bound(s).least.value <= predict_step(s, gpu).value);
  }
}

TEST_CASE("offloading that cannot be is named") {
  const auto broken = [](const Scenario& s) {
    const auto found = violations(s);
    return found.empty() ? std::string() : found.front().message;
  };
  CHECK(broken(offloading(Offload::optimizer, Strategy::zero1)).empty());
  CHECK(broken(offloading(Offload::optimizer, Strategy::ddp, 1)).empty());
  CHECK(broken(offloading(Offload::parameters, Strategy::fsdp, 1)).empty());
  CHECK_THAT(broken(offloading(Offload::optimizer, Strategy::ddp)),
             match::StartsWith("offload = \"optimizer\" needs a strategy that shares"));
  CHECK(broken(offloading(Offload::parameters, Strategy::zero2)) ==
        "offload = \"parameters\" needs strategy \"fsdp\" or \"zero3\", on one GPU, too");
  Scenario s = offloading(Offload::activations, Strategy::zero1);
  s.parallel.pipeline = 2;
  CHECK(broken(s) == "offload needs pipeline = 1: stages that offload are not simulated");
}
