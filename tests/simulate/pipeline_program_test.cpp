// Steps of pipelines against sums done by hand. Times in milliseconds where nothing else is said.
#include "simulate/pipeline_program.h"

#include <stdexcept>

#include "tests/catch2.h"
#include "tests/simulate/toy_pipeline.h"

using namespace stepsight;

namespace {

constexpr double ms = 1e-3;
constexpr auto one_each = PipelineSchedule::one_f_one_b;

double step_ms(const PipelineShape& shape, const PipelineCosts& costs, const Machine& m = {}) {
  return predicted(shape, costs, m).step.value * 1e3;
}

std::size_t tasks_of(const PipelineProgram& pipeline, PipelineTask kind) {
  std::size_t count = 0;
  for (const Task& task : pipeline.program.tasks()) {
    if (unpack_pipeline_label(task.label).task == kind) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a label gives back what was packed") {
  const PipelineLabel label{PipelineTask::parameter_gather, 63, (1U << 22U) - 1};
  CHECK(unpack_pipeline_label(pack(label)) == label);
  CHECK(unpack_pipeline_label(pack({})) == PipelineLabel{});
}

TEST_CASE("zero-bubble's bubble is (p - 1) (F + B - W)") {
  // Qi et al. 2023, table 1. 4 stages, 8 micro-batches, F = 2, B = 2, W = 1: 8 * 5 + 3 * 3.
  const PipelineShape shape{PipelineSchedule::zero_bubble, 4, 8, 1};
  CHECK(step_ms(shape, equal_stages(shape, 2 * ms, 2 * ms, 2 * ms)) == Approx(8 * 6 + 3 * 2));
  const PipelineShape one_forward{one_each, 4, 8, 1};
  CHECK(step_ms(one_forward, equal_stages(one_forward, 2 * ms, 2 * ms, 2 * ms)) ==
        Approx(8 * 6 + 3 * 6));
}

TEST_CASE("messages that overlap lengthen a chain of forwards and backwards by each hop") {
  // One micro-batch through 3 stages: 3 forwards of 1, 3 backwards of 2, and 4 messages of 0.5.
  const PipelineShape shape{one_each, 3, 1, 1};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  set_messages(costs, 0.5 * ms);
  CHECK(step_ms(shape, costs) == Approx(11));
  costs.messages = PipelineMessages::blocking;
  CHECK(step_ms(shape, costs) == Approx(11));
}

TEST_CASE("blocking messages stop the sender, overlapped ones do not") {
  // 2 stages, 2 micro-batches, F = 1, backward 2, messages of 0.5.
  //   overlapped: stage 1 runs F0 1.5-2.5 D0 2.5-4.5 F1 4.5-5.5 D1 5.5-7.5; the gradient arrives at
  //   8 and stage 0 runs D1 8-10. (D0 was there at 5.) blocking: stage 1 exchanges after D0: the
  //   gradient goes and F1's input, sent by stage 0 when both are there, comes, 4.5-5; F1 5-6, D1
  //   6-8, message, D1 on stage 0 8.5-10.5.
  const PipelineShape shape{one_each, 2, 2, 1};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  set_messages(costs, 0.5 * ms);
  CHECK(step_ms(shape, costs) == Approx(10));
  costs.messages = PipelineMessages::blocking;
  CHECK(step_ms(shape, costs) == Approx(10.5));
}

TEST_CASE("an interleaved pipeline that blocks exchanges once for each forward and backward") {
  // 2 stages of 2 chunks, 2 micro-batches, F = 1 and backward 2 of a chunk. Equal stages in step
  // with each other: without messages 2 * 2 * 3 + (p - 1) * 3 = 15.
  const PipelineShape shape{PipelineSchedule::interleaved, 2, 2, 2};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  costs.messages = PipelineMessages::blocking;
  CHECK(step_ms(shape, costs) == Approx(15));
  // With messages of 0.1: stage 1 fills with F0.0 and F1.0, then opens pairs. By hand, s1 first:
  //   s0: F0.0 0-1, F1.0 1.1-2.1, F0.1 2.2-3.2, F1.1 3.3-4.3
  //   s1: F0.0 1.1-2.1, F1.0 2.2-3.2, [F0.1 3.3-4.3 D0.1 4.3-6.3], [F1.1 6.4-7.4 D1.1 7.4-9.4]
  //   s0's F1.1 leaves in the exchange after stage 1's first pair, 6.3-6.4, with D0.1's gradient:
  //   s0: D0.1 6.4-8.4, D1.1 9.5-11.5. Its gradient of D0.1 goes round to stage 1, which posts D0.0
  //   after its second pair: 9.4-9.5 in one exchange; s1: D0.0 9.5-11.5, exchange 11.5-11.6 with
  //   D1.1's gradient, D1.0 11.6-13.6; s0: D0.0 11.6-13.6, D1.0 13.7-15.7.
  set_messages(costs, 0.1 * ms);
  CHECK(step_ms(shape, costs) == Approx(15.7));
}

TEST_CASE("overlap in between hides messages only while passes alternate") {
  const PipelineShape shape{PipelineSchedule::interleaved, 4, 16, 2};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  set_messages(costs, 2 * ms);
  const double overlapped = step_ms(shape, costs);
  costs.messages = PipelineMessages::overlapped_in_between;
  const double between = step_ms(shape, costs);
  costs.messages = PipelineMessages::blocking;
  const double blocking = step_ms(shape, costs);
  CHECK(overlapped < between);
  CHECK(between < blocking);
}

TEST_CASE("a host that issues more slowly than the GPU computes sets the pace") {
  // One stage, 3 micro-batches: issue 2 + 4, compute 1 + 2. The last pass is issued at 18.
  const PipelineShape shape{one_each, 1, 3, 1};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  PipelineChunkCosts& chunk = costs.stages[0].chunks[0];
  chunk.forward_issue = Seconds{2 * ms};
  chunk.input_gradient_issue = chunk.weight_gradient_issue = Seconds{2 * ms};
  CHECK(step_ms(shape, costs) == Approx(18));
  // One that is quicker is hidden.
  chunk.forward_issue = Seconds{0.5 * ms};
  chunk.input_gradient_issue = chunk.weight_gradient_issue = Seconds{0.5 * ms};
  CHECK(step_ms(shape, costs) == Approx(9));
}

TEST_CASE("a message that stops the host keeps it from issuing ahead") {
  // 2 stages, 1 micro-batch, issue as long as compute (1 and 2): the host of stage 1 would have
  // issued all by 3. Stopped, it issues each pass when its message is there, and the pass runs
  // beside that.
  const PipelineShape shape{one_each, 2, 4, 1};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  costs.messages = PipelineMessages::blocking;
  for (PipelineStageCosts& stage : costs.stages) {
    stage.chunks[0].forward_issue = Seconds{2 * ms};
    stage.chunks[0].input_gradient_issue = Seconds{1 * ms};
  }
  const double ahead = step_ms(shape, costs);
  costs.messages_stop_host = true;
  const double stopped = step_ms(shape, costs);
  // Every forward takes its issue, 2; a backward its compute, 2: (m + p - 1) * 4.
  CHECK(stopped == Approx(20));
  CHECK(ahead < stopped);
}

TEST_CASE("gradients synchronise after the passes, or bucket by bucket beside the last one") {
  // 1 stage, 2 micro-batches of F = 1, backward 2, gradients 1.2, optimizer 0.5.
  const PipelineShape shape{one_each, 1, 2, 1};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  costs.stages[0].optimizer = Seconds{0.5 * ms};
  costs.stages[0].chunks[0].gradient_sync = Seconds{1.2 * ms};
  costs.stages[0].chunks[0].gradient_buckets = 4;
  CHECK(step_ms(shape, costs) == Approx(6 + 1.2 + 0.5));
  // The last backward fills a bucket every 0.5, each takes 0.3: one is left at its end.
  costs.overlap_gradient_sync = true;
  CHECK(step_ms(shape, costs) == Approx(6 + 0.3 + 0.5));
  // A slower link: the first bucket leaves at 4.5 and 4 of 1 follow each other.
  costs.stages[0].chunks[0].gradient_sync = Seconds{4 * ms};
  CHECK(step_ms(shape, costs) == Approx(4.5 + 4 + 0.5));
}

TEST_CASE("a chunk's gradients travel while the other chunk still runs backward") {
  // 1 stage of 2 chunks, 1 micro-batch: F F D1 4 D0 6; chunk 1's gradients, 1.5, fit beside D0.
  const PipelineShape shape{PipelineSchedule::interleaved, 1, 1, 2};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  costs.stages[0].chunks[1].gradient_sync = Seconds{1.5 * ms};
  costs.overlap_gradient_sync = true;
  CHECK(step_ms(shape, costs) == Approx(6));
  costs.overlap_gradient_sync = false;
  CHECK(step_ms(shape, costs) == Approx(7.5));
}

TEST_CASE("a gather of parameters is hidden only by forwards of earlier chunks") {
  const PipelineShape shape{PipelineSchedule::interleaved, 1, 1, 2};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  costs.stages[0].chunks[0].parameter_gather = Seconds{0.4 * ms};
  costs.stages[0].chunks[1].parameter_gather = Seconds{0.9 * ms};
  CHECK(step_ms(shape, costs) == Approx(6 + 1.3));
  // The first chunk waits 0.4 for its own, the second's 0.9 pass beside its forward of 1.
  costs.overlap_parameter_gather = true;
  CHECK(step_ms(shape, costs) == Approx(6 + 0.4));
}

TEST_CASE("first and last stage sum a tied embedding together, and nobody else waits") {
  const PipelineShape shape{one_each, 3, 1, 1};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  costs.embedding_sync = Seconds{0.7 * ms};
  // Stage 0 ends at 9 and can only then sum; the last stage has waited since 5.
  const PipelineProgram pipeline = build_pipeline(order_passes(shape), costs);
  CHECK(tasks_of(pipeline, PipelineTask::embedding_sync) == 2);
  const PipelineTime time = pipeline_time(pipeline, run(pipeline.program));
  CHECK(time.step.value * 1e3 == Approx(9.7));
  CHECK(time.stages[1].collectives.value == 0);
  CHECK(time.stages[2].collectives.value * 1e3 == Approx(0.7));
}

TEST_CASE("the norm over all stages makes every optimizer wait for the last gradient") {
  const PipelineShape shape{one_each, 2, 1, 1};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  costs.stages[1].optimizer = Seconds{3 * ms};
  // Stage 1 is done at 4 and updates until 7; stage 0 ends at 6.
  CHECK(step_ms(shape, costs) == Approx(7));
  costs.global_norm = true;
  costs.global_norm_seconds = Seconds{0.1 * ms};
  CHECK(step_ms(shape, costs) == Approx(6 + 0.1 + 3));
}

TEST_CASE("compute slows under messages through the engine's classes") {
  // Each message of 1 lies beside the next pass, and both run at half rate while they meet.
  const PipelineShape shape{one_each, 2, 2, 1};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  set_messages(costs, 0.5 * ms);
  Machine machine;
  machine.slow_down[1][2] = 0.5;
  const PipelineTime alone = predicted(shape, costs);
  const PipelineTime slowed = predicted(shape, costs, machine);
  CHECK(alone.stages[0].slow_down.value == 0);
  // Stage 0's F1 runs at half rate beside F0's message, 0.5 long: 0.25 ms are lost.
  CHECK(slowed.stages[0].slow_down.value * 1e3 >= 0.25);
  CHECK(slowed.step > alone.step);
}

TEST_CASE("a message as one task takes what it takes as two") {
  const PipelineShape shape{PipelineSchedule::interleaved, 4, 8, 3};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1.3 * ms, 0.8 * ms);
  set_messages(costs, 0.37 * ms);
  costs.stages[1].chunks[2].forward = Seconds{1.6 * ms};
  const PipelineProgram two = build_pipeline(order_passes(shape), costs);
  costs.interference.send = costs.interference.receive = 0;
  const PipelineProgram one = build_pipeline(order_passes(shape), costs);
  const std::size_t sent = tasks_of(one, PipelineTask::send_gradients);
  CHECK(sent == tasks_of(two, PipelineTask::receive_gradients));
  CHECK(tasks_of(one, PipelineTask::receive_gradients) == 0);
  const PipelineTime a = pipeline_time(one, run(one.program));
  const PipelineTime b = pipeline_time(two, run(two.program));
  CHECK(a.step.value == b.step.value);
  CHECK(a.stages[2].messages.value == b.stages[2].messages.value);
  CHECK(a.stages[2].bubble.value == b.stages[2].bubble.value);
}

TEST_CASE(
    "a pipeline without its host takes as long where the host delays nobody, and keeps one that "
    "does") {
  std::mt19937 random(11);
  const auto ms_up_to = [&](double most) {
    return Seconds{std::uniform_real_distribution<double>(0.01, most)(random) * ms};
  };
  int left_out = 0, kept = 0;
  for (int round = 0; round < 60; ++round) {
    const bool interleaved = round % 2 == 0;
    const PipelineShape shape{
        interleaved ? PipelineSchedule::interleaved : PipelineSchedule::zero_bubble,
        4,
        8,
        interleaved ? 2 : 1};
    PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
    set_messages(costs, 0.2 * ms);
    costs.messages =
        round % 3 == 0 ? PipelineMessages::overlapped : PipelineMessages::overlapped_in_between;
    costs.messages_stop_host = round % 10 == 9;
    const double most_issue = round % 4 == 0 ? 0.3 : 1.2;
    for (PipelineStageCosts& stage : costs.stages) {
      for (PipelineChunkCosts& chunk : stage.chunks) {
        for (auto* work : {&chunk.forward, &chunk.input_gradient, &chunk.weight_gradient})
          *work = ms_up_to(1);
        for (auto* issue :
             {&chunk.forward_issue, &chunk.input_gradient_issue, &chunk.weight_gradient_issue}) {
          *issue = ms_up_to(most_issue);
        }
      }
    }
    Machine machine;
    machine.slow_down[1][2] = 0.6;
    const PipelineProgram all = build_pipeline(order_passes(shape), costs);
    const PipelineProgram some =
        build_pipeline(order_passes(shape), costs, HostLane::where_it_binds);
    CAPTURE(round);
    CHECK(run(some.program, machine).makespan == run(all.program, machine).makespan);
    (some.has_host ? kept : left_out) += 1;
    if (costs.messages_stop_host) CHECK(some.has_host);
  }
  CHECK(left_out > 5);
  CHECK(kept > 5);
}

TEST_CASE("the parts of every stage's time add up to the step") {
  const PipelineShape shape{PipelineSchedule::interleaved, 4, 8, 2};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1.1 * ms, 0.9 * ms);
  set_messages(costs, 0.3 * ms);
  costs.stages[2].chunks[1].forward = Seconds{1.7 * ms};
  costs.stages[3].chunks[0].forward_issue = Seconds{9 * ms};
  for (PipelineStageCosts& stage : costs.stages) {
    stage.optimizer = Seconds{0.4 * ms};
    stage.chunks[0].gradient_sync = Seconds{2 * ms};
    stage.chunks[1].parameter_gather = Seconds{0.2 * ms};
  }
  costs.embedding_sync = Seconds{0.5 * ms};
  costs.global_norm = true;
  Machine machine;
  machine.slow_down[1][2] = 0.9;
  for (const auto messages : {PipelineMessages::overlapped,
                              PipelineMessages::blocking,
                              PipelineMessages::overlapped_in_between}) {
    costs.messages = messages;
    const PipelineTime time = predicted(shape, costs, machine);
    for (const PipelineStageTime& stage : time.stages) {
      const Seconds sum = stage.passes + stage.optimizer + stage.messages + stage.collectives +
                          stage.host + stage.bubble;
      CHECK(sum.value == Approx(time.step.value).epsilon(1e-12));
      CHECK(stage.bubble.value >= 0);
    }
    CHECK(time.stages[1].messages.value > 0);
    CHECK(time.stages[3].host.value > 0);
  }
}

TEST_CASE("messages are counted once for each hop of a micro-batch") {
  // 3 stages of 2 chunks: a micro-batch hops 5 times forward and 5 times back, 1 MB and 2 MB.
  const PipelineShape shape{PipelineSchedule::interleaved, 3, 6, 2};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  set_messages(costs, 0.1 * ms);
  const PipelineProgram pipeline = build_pipeline(order_passes(shape), costs);
  CHECK(tasks_of(pipeline, PipelineTask::send_activations) == 6 * 5);
  CHECK(tasks_of(pipeline, PipelineTask::send_gradients) == 6 * 5);
  CHECK(pipeline.message_bytes == Approx(6 * 5 * 3e6));
}

TEST_CASE("costs that do not fit the schedule are our own error") {
  const PipelineShape shape{one_each, 2, 2, 1};
  PipelineCosts costs = equal_stages(shape, 1 * ms, 1 * ms, 1 * ms);
  const auto build = [&] { build_pipeline(order_passes(shape), costs); };
  CHECK_NOTHROW(build());
  costs.stages[1].chunks[0].gradient_buckets = 0;
  CHECK_THROWS_AS(build(), std::logic_error);
  costs.stages[1].chunks.clear();
  CHECK_THROWS_AS(build(), std::logic_error);
  costs.stages.pop_back();
  CHECK_THROWS_AS(build(), std::logic_error);
}
