// The program of a step: what is issued, when buckets go, and what a steady step is.
#include "simulate/step_program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "simulate/timeline.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

using namespace stepsight;

namespace {

// Tasks of the whole program on the communication stream.
std::size_t messages(const StepProgram& step) {
  return static_cast<std::size_t>(std::ranges::count_if(
      step.program.tasks(), [&](const Task& t) { return t.lane == index(step.communication); }));
}

}  // namespace

TEST_CASE("alone, nothing is copied into buckets and nothing is sent") {
  const StepProgram step = program_of(toy_scenario(1), toy_gpu());
  CHECK(messages(step) == 0);
  CHECK(step.message_bytes == 0);
  CHECK(step.buckets == 0);
  for (const TaskLabel& label : step.labels) CHECK(label.kind != WorkKind::sync_copy);
}

TEST_CASE("every gradient travels once a step, in its own bytes") {
  const Scenario s = toy_scenario(4);
  const StepProgram step = program_of(s, toy_gpu());
  CHECK(step.message_bytes == 2.0 * static_cast<double>(parameter_count(s.model)));
  CHECK(messages(step) == 2 * step.buckets);  // two steps
  Scenario wide = s;
  wide.training.gradient_dtype = Dtype::fp32;
  CHECK(program_of(wide, toy_gpu()).message_bytes == 2 * step.message_bytes);
  // Twice the bytes under the same caps: more buckets.
  CHECK(program_of(wide, toy_gpu()).buckets > step.buckets);
}

TEST_CASE("accumulation sends once a step under no_sync, and K times without") {
  Scenario s = toy_scenario(2);
  const StepProgram once = program_of(s, toy_gpu());
  s.training.accumulation = 4;
  const StepProgram no_sync = program_of(s, toy_gpu());
  CHECK(no_sync.message_bytes == once.message_bytes);
  CHECK(messages(no_sync) == messages(once));
  s.parallel.sync_each_micro_step = true;
  const StepProgram each = program_of(s, toy_gpu());
  CHECK(each.message_bytes == 4 * once.message_bytes);
  CHECK(messages(each) == 4 * messages(once));
}

TEST_CASE("every kernel waits for its issue, every bucket for its last gradient") {
  const StepProgram step = program_of(toy_scenario(2), toy_gpu());
  std::size_t kernels = 0;
  for (const Task& task : step.program.tasks()) {
    const auto dependencies = step.program.dependencies(task);
    if (task.lane == index(step.host)) {
      CHECK(dependencies.empty());
    } else if (task.lane == index(step.compute)) {
      ++kernels;
      REQUIRE_FALSE(dependencies.empty());
      CHECK(step.program.task(dependencies[0]).lane == index(step.host));
    } else {
      REQUIRE(dependencies.size() == 2);
      CHECK(step.program.task(dependencies[0]).lane == index(step.host));
      CHECK(step.labels[step.program.task(dependencies[1]).label].kind == WorkKind::sync_copy);
    }
  }
  CHECK(kernels > 500);
}

TEST_CASE("without overlap all buckets go after the last gradient") {
  Scenario s = toy_scenario(2);
  s.parallel.overlap = false;
  const StepProgram step = program_of(s, toy_gpu());
  const Timeline timeline = run(step.program, step.machine);
  Picoseconds backward_end = 0;
  Picoseconds first_message = 0;
  const auto tasks = step.program.tasks();
  for (std::uint32_t i = 0; i < tasks.size() && TaskId{i} != step.step_end[0]; ++i) {
    if (step.labels[tasks[i].label].phase == Phase::backward) {
      backward_end = std::max(backward_end, timeline.end[i]);
    }
    if (tasks[i].lane == index(step.communication) && first_message == 0) {
      first_message = timeline.start[i];
    }
  }
  CHECK(first_message >= backward_end);
  Scenario overlapping = s;
  overlapping.parallel.overlap = true;
  CHECK(program_of(overlapping, toy_gpu()).message_bytes == step.message_bytes);
}

TEST_CASE("the second step is steady, whatever bounds it") {
  struct Example {
    const char* name;
    GpuProfile gpu;
    std::int64_t batch;
    std::int64_t gpus;
  };
  // The same step bound by the GPU, by the host, by the link, and by host and GPU in turn.
  const std::vector<Example> examples{
      {"GPU", toy_gpu_with_host(1), 8, 1},
      {"host", toy_gpu_with_host(400), 1, 1},
      {"host, two cards", toy_gpu_with_host(400), 1, 2},
      {"link", with_busbw(toy_gpu(), 2), 4, 8},
      {"GPU, two cards", toy_gpu(), 8, 2},
      {"host and GPU", toy_gpu_with_host(60), 2, 1},
      {"host and GPU, two cards", toy_gpu_with_host(60), 2, 2},
  };
  for (const Example& e : examples) {
    Scenario s = toy_scenario(e.gpus);
    s.training.batch = e.batch;
    const auto two = static_cast<double>(last_step(program_of(s, e.gpu, {}, 2)));
    const auto six = static_cast<double>(last_step(program_of(s, e.gpu, {}, 6)));
    INFO(e.name << ": " << two * 1e-9 << " ms, steady " << six * 1e-9 << " ms");
    CHECK(std::abs(two / six - 1) < 0.005);
  }
}

TEST_CASE("kernel seconds are those of one step's tasks") {
  Scenario s = toy_scenario(2);
  s.training.accumulation = 3;
  GpuProfile gpu = toy_gpu();
  gpu.power_W = 0;  // no limit: kernels stand as they were costed
  const StepProgram step = program_of(s, gpu);
  std::map<WorkKind, double> sums;
  for (const Task& task : step.program.tasks()) {
    if (task.lane == index(step.host)) continue;
    sums[step.labels[task.label].kind] += to_seconds(task.work).value / 2;  // two steps
  }
  for (std::size_t i = 0; i < step.kernel_seconds.size(); ++i) {
    INFO(i);
    CHECK(sums[static_cast<WorkKind>(i)] == Approx(step.kernel_seconds[i]).epsilon(1e-6));
  }
  double host = 0;
  for (const Task& task : step.program.tasks()) {
    if (task.lane == index(step.host)) host += to_seconds(task.work).value / 2;
  }
  CHECK(host == Approx(step.host_seconds).epsilon(1e-6));
}

TEST_CASE("a single step is refused: it says nothing of a steady one") {
  CHECK_THROWS_AS(program_of(toy_scenario(1), toy_gpu(), {}, 1), std::logic_error);
}
