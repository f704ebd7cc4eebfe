// What must hold for every pipeline, on random ones.
#include <algorithm>
#include <cmath>
#include <vector>

#include <rapidcheck.h>

#include "tests/catch2.h"
#include "tests/simulate/toy_pipeline.h"

namespace stepsight {
namespace {

int between(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

// Whole microseconds: nothing is rounded and sums are exact.
Seconds microseconds(int low, int high) {
  return Seconds{between(low, high) * 1e-6};
}

PipelineShape random_shape() {
  PipelineShape shape;
  shape.schedule = static_cast<PipelineSchedule>(between(0, 3));
  shape.stages = between(1, 6);
  shape.micro_batches = between(1, 9);
  if (shape.schedule == PipelineSchedule::interleaved) {
    shape.chunks = between(2, 4);
    shape.micro_batches = shape.stages * between(1, 3);
  }
  return shape;
}

PipelineMessages random_messages() {
  return static_cast<PipelineMessages>(between(0, 2));
}

// Every cost of every stage its own; a third of the kinds of cost are nothing.
PipelineCosts random_costs(const PipelineShape& shape) {
  PipelineCosts costs = equal_stages(shape, 0, 0, 0);
  const auto some = [](int high) {
    return between(0, 2) == 0 ? Seconds{0} : microseconds(0, high);
  };
  const bool host = between(0, 1) == 1;
  for (PipelineStageCosts& stage : costs.stages) {
    for (PipelineChunkCosts& chunk : stage.chunks) {
      chunk.forward = microseconds(1, 100);
      chunk.input_gradient = microseconds(1, 100);
      chunk.weight_gradient = microseconds(1, 100);
      if (host) {
        chunk.forward_issue = some(100);
        chunk.input_gradient_issue = some(100);
        chunk.weight_gradient_issue = some(100);
      }
      chunk.gradient_sync = some(300);
      chunk.gradient_buckets = static_cast<std::uint32_t>(between(1, 5));
      chunk.parameter_gather = some(200);
    }
    stage.activations.seconds = some(50);
    stage.gradients.seconds = some(50);
    stage.optimizer = some(100);
  }
  costs.messages = random_messages();
  costs.messages_stop_host = between(0, 1) == 1;
  costs.overlap_gradient_sync = between(0, 1) == 1;
  costs.overlap_parameter_gather = between(0, 1) == 1;
  costs.embedding_sync = some(100);
  costs.global_norm = between(0, 1) == 1;
  costs.global_norm_seconds = some(20);
  return costs;
}

// All costs, so that a test can raise any one of them.
std::vector<Seconds*> every_cost(PipelineCosts& costs) {
  std::vector<Seconds*> out{&costs.embedding_sync, &costs.global_norm_seconds};
  for (PipelineStageCosts& stage : costs.stages) {
    for (PipelineChunkCosts& c : stage.chunks) {
      for (Seconds* cost : {&c.forward,
                            &c.input_gradient,
                            &c.weight_gradient,
                            &c.forward_issue,
                            &c.input_gradient_issue,
                            &c.weight_gradient_issue,
                            &c.gradient_sync,
                            &c.parameter_gather}) {
        out.push_back(cost);
      }
    }
    for (Seconds* cost : {&stage.activations.seconds, &stage.gradients.seconds, &stage.optimizer}) {
      out.push_back(cost);
    }
  }
  return out;
}

double pass_work(const PipelineShape& shape, const PipelineStageCosts& stage) {
  double sum = 0;
  for (const PipelineChunkCosts& c : stage.chunks) {
    sum += (c.forward + c.input_gradient + c.weight_gradient).value;
  }
  return sum * static_cast<double>(shape.micro_batches);
}

Machine random_machine() {
  Machine machine;
  machine.slow_down[1][2] = between(5, 10) / 10.0;
  machine.slow_down[2][1] = between(5, 10) / 10.0;
  return machine;
}

}  // namespace

TEST_CASE("equal stages without communication have exactly the textbook bubble") {
  CHECK(rc::check([] {
    PipelineShape shape = random_shape();
    if (shape.schedule == PipelineSchedule::zero_bubble) shape.schedule = PipelineSchedule::gpipe;
    PipelineCosts costs = equal_stages(
        shape, between(1, 1000) * 1e-6, between(1, 1000) * 1e-6, between(1, 1000) * 1e-6);
    costs.messages = random_messages();
    const PipelineTime time = predicted(shape, costs);
    const auto p = static_cast<double>(shape.stages);
    const auto passes = static_cast<double>(shape.chunks * shape.micro_batches);
    const double bubble = (p - 1) / (passes + p - 1);
    RC_ASSERT(std::abs(time.bubble_fraction - bubble) < 1e-9);
    for (const PipelineStageTime& stage : time.stages) {
      RC_ASSERT(std::abs(stage.bubble / time.step - bubble) < 1e-9);
    }
  }));
}

TEST_CASE("zero-bubble's bubble is the paper's, and below that of 1f1b") {
  CHECK(rc::check([] {
    // (p - 1) (F + B - W) holds where B fills no gap of its own: F = B (Qi et al., section 2.3,
    // derive it for equal passes) and enough micro-batches to reach the steady state.
    PipelineShape shape{PipelineSchedule::zero_bubble, between(2, 8), 0, 1};
    shape.micro_batches = shape.stages + between(0, 10);
    const double unit = between(1, 1000) * 1e-6;
    const PipelineTime zero = predicted(shape, equal_stages(shape, unit, unit, unit));
    const auto p = static_cast<double>(shape.stages);
    const auto m = static_cast<double>(shape.micro_batches);
    RC_ASSERT(std::abs(zero.step.value - (3 * m + p - 1) * unit) < 1e-12);

    // Any passes, any number of micro-batches: never longer than 1f1b, shorter with more than a
    // stage.
    shape.micro_batches = between(1, 12);
    const PipelineCosts costs = equal_stages(
        shape, between(1, 1000) * 1e-6, between(1, 1000) * 1e-6, between(1, 1000) * 1e-6);
    const PipelineTime split = predicted(shape, costs);
    shape.schedule = PipelineSchedule::one_f_one_b;
    RC_ASSERT(split.bubble_fraction < predicted(shape, costs).bubble_fraction);
  }));
}

TEST_CASE("a pipelined step is at least the work of its slowest stage") {
  CHECK(rc::check([] {
    const PipelineShape shape = random_shape();
    const PipelineCosts costs = random_costs(shape);
    const PipelineTime time = predicted(shape, costs, random_machine());
    for (const PipelineStageCosts& stage : costs.stages) {
      RC_ASSERT(time.step.value >= pass_work(shape, stage) + stage.optimizer.value - 1e-12);
    }
  }));
}

TEST_CASE("one stage is the plain sum of its passes, whatever the messages") {
  CHECK(rc::check([] {
    PipelineShape shape = random_shape();
    shape.stages = 1;
    PipelineCosts costs = random_costs(shape);
    for (PipelineChunkCosts& c : costs.stages[0].chunks) {
      c.forward_issue = c.input_gradient_issue = c.weight_gradient_issue = Seconds{0};
      c.gradient_sync = c.parameter_gather = Seconds{0};
    }
    costs.global_norm = false;
    const PipelineTime time = predicted(shape, costs, random_machine());
    const double sum = pass_work(shape, costs.stages[0]) + costs.stages[0].optimizer.value;
    RC_ASSERT(std::abs(time.step.value - sum) < 1e-12);
    RC_ASSERT(time.bubble_fraction == 0);
  }));
}

TEST_CASE("a pipelined step never gets shorter when one of its costs grows") {
  CHECK(rc::check([] {
    const PipelineShape shape = random_shape();
    PipelineCosts costs = random_costs(shape);
    const PipelineTime before = predicted(shape, costs);
    std::vector<Seconds*> list = every_cost(costs);
    Seconds& cost = *list[static_cast<std::size_t>(between(0, static_cast<int>(list.size()) - 1))];
    cost = cost + microseconds(1, 200);
    RC_ASSERT(predicted(shape, costs).step >= before.step);
  }));
}

TEST_CASE("overlapped messages are never slower than blocking ones") {
  CHECK(rc::check([] {
    const PipelineShape shape = random_shape();
    PipelineCosts costs = random_costs(shape);
    costs.messages = PipelineMessages::blocking;
    const PipelineTime blocking = predicted(shape, costs);
    costs.messages = PipelineMessages::overlapped;
    costs.messages_stop_host = false;
    RC_ASSERT(predicted(shape, costs).step <= blocking.step);
  }));
}

TEST_CASE("the parts of a stage's time add up to the step, and none is negative") {
  CHECK(rc::check([] {
    const PipelineShape shape = random_shape();
    const PipelineTime time = predicted(shape, random_costs(shape), random_machine());
    for (const PipelineStageTime& s : time.stages) {
      const Seconds sum = s.passes + s.optimizer + s.messages + s.collectives + s.host + s.bubble;
      RC_ASSERT(std::abs(sum.value - time.step.value) < 1e-12);
      for (const Seconds part :
           {s.passes, s.slow_down, s.optimizer, s.messages, s.collectives, s.host, s.bubble}) {
        RC_ASSERT(part.value >= 0);
      }
    }
  }));
}

TEST_CASE("every pass of a schedule comes once, after what it needs") {
  CHECK(rc::check([] {
    const PipelineShape shape = random_shape();
    const PipelineOrder schedule = order_passes(shape);
    for (std::int64_t s = 0; s < shape.stages; ++s) {
      // 0 nothing, 1 forward done, 2 the input's gradient, 3 the weights' too.
      std::vector<int> done(static_cast<std::size_t>(shape.chunks * shape.micro_batches), 0);
      for (const PipelineOp& op : schedule.of(s)) {
        int& state =
            done[static_cast<std::size_t>(op.chunk * shape.micro_batches + op.micro_batch)];
        const bool split = op.pass != PipelinePass::backward;
        RC_ASSERT(state == (op.pass == PipelinePass::forward           ? 0
                            : op.pass == PipelinePass::weight_gradient ? 2
                                                                       : 1));
        state = split ? state + 1 : 3;
      }
      RC_ASSERT(std::all_of(done.begin(), done.end(), [](int state) { return state == 3; }));
    }
  }));
}

}  // namespace stepsight
