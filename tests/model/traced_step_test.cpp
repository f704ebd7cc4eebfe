#include "model/traced_step.h"

#include "tests/catch2.h"
#include "tests/model/message_of.h"
#include "tests/model/toy_trace.h"

using namespace stepsight;

namespace {

TracedStep toy_step() {
  ToyTrace trace;
  add_toy_step(trace, 1000);
  return step_of(trace.text());
}

}  // namespace

TEST_CASE("a traced step has its kernels in the order of the GPU, each in its part of the step") {
  const TracedStep s = toy_step();
  REQUIRE(s.kernels.size() == 5);
  const std::array<double, 5> us{20, 8, 30, 5, 40};
  const std::array<StepPart, 5> parts{StepPart::forward,
                                      StepPart::forward,
                                      StepPart::backward,
                                      StepPart::backward,
                                      StepPart::optimizer};
  for (std::size_t i = 0; i < 5; ++i) {
    INFO(i);
    CHECK(s.kernels[i].seconds == Approx(us[i] * 1e-6));
    CHECK(s.kernels[i].part == parts[i]);
  }
  CHECK(s.kernels[0].kind == KernelKind::product);
  CHECK(s.kernels[0].dtype == Dtype::bf16);
  CHECK(s.kernels[1].kind == KernelKind::memory);
  CHECK(s.gpu == "Toy card");
  CHECK(s.multiprocessors == 100);
}

TEST_CASE("a kernel's issue time runs from the launch before it to the end of its own") {
  // Launches end at 6, 24, 50, 72 and 116 us, the host's last operator at 150.
  const TracedStep s = toy_step();
  const std::array<double, 5> us{6, 18, 26, 22, 44};
  for (std::size_t i = 0; i < 5; ++i) CHECK(s.kernels[i].issue_seconds == Approx(us[i] * 1e-6));
  CHECK(s.tail_seconds == Approx(34e-6));
  CHECK(s.issue[0].seconds == Approx(24e-6));
  CHECK(s.issue[1].seconds == Approx(48e-6));
  CHECK(s.issue[2].seconds == Approx(78e-6));
}

TEST_CASE("operators that launched kernels are counted once, casts apart") {
  const TracedStep s = toy_step();
  CHECK(s.issue[0].operators == 1);
  CHECK(s.issue[0].casts == 1);
  CHECK(s.issue[1].operators == 2);
  CHECK(s.issue[2].operators == 1);
}

TEST_CASE("a gradient is ready after the kernels that were issued before its node ran") {
  const TracedStep s = toy_step();
  REQUIRE(s.gradients.size() == 2);
  CHECK(s.gradients[0].after == 3);
  CHECK(s.gradients[0].elements == 64 * 32);
  CHECK(s.gradients[1].after == 4);
  CHECK(s.gradients[1].elements == 32);
  CHECK(s.sizes_recorded);
  CHECK(s.gradient_dtype == Dtype::fp32);
  CHECK(s.backward_end == 4);
  CHECK(parameter_count(s) == 2080);
}

TEST_CASE("a recorded product keeps its shape and layout") {
  const TracedStep s = toy_step();
  REQUIRE(s.kernels[0].work != no_operator);
  const auto* gemm = std::get_if<Gemm>(&s.works[s.kernels[0].work]);
  REQUIRE(gemm != nullptr);
  CHECK(gemm->m == 64);
  CHECK(gemm->n == 32);
  CHECK(gemm->k == 128);
  CHECK(gemm->layout == Layout::TN);
  CHECK(s.kernels[3].work == no_operator);
}

TEST_CASE("time that a kernel shares with an earlier one counts once") {
  ToyTrace trace;
  add_toy_step(trace, 0);
  trace.kernel("void at::native::beside", 60, 1, 3, 1, 12, 10);  // within the first: 10 to 30
  trace.kernel("void at::native::half", 61, 1, 4, 1, 26, 6);     // 4 us of it after 30
  const TracedStep s = step_of(trace.text());
  CHECK(s.kernels[1].seconds == 0);
  CHECK(s.kernels[2].seconds == Approx(2e-6));
  CHECK(s.other_streams == 1);
}

TEST_CASE("a wait for the GPU is no issue time, and what follows is issued after it") {
  ToyTrace trace;
  add_toy_step(trace, 0);
  // Between the launches that end at 72 and at 116.
  trace.add("cuda_runtime", "cudaStreamSynchronize", 1, 80, 16, "\"correlation\": 99");
  const TracedStep s = step_of(trace.text());
  CHECK(s.kernels[4].issue_seconds == Approx((44 - 16) * 1e-6));
  CHECK(s.kernels[4].host_waits);
  CHECK_FALSE(s.kernels[3].host_waits);
}

TEST_CASE("of several marked steps the one of median length is taken, without the first") {
  // Lengths 900 (warm-up), 160, 200, 180: the median of the last three is 180.
  ToyTrace trace;
  const std::array<double, 5> at{0, 900, 1060, 1260, 1440};
  for (int i = 0; i < 4; ++i) {
    const auto n = static_cast<std::size_t>(i);
    trace.add(
        "user_annotation", "ProfilerStep#" + std::to_string(i + 7), 1, at[n], at[n + 1] - at[n]);
    add_toy_step(trace, at[n] + 5, 100 * (i + 1));
  }
  const TracedStep s = step_of(trace.text());
  CHECK(s.name == "ProfilerStep#10");
  CHECK(s.steps == 4);
  CHECK(s.kernels.size() == 5);
  CHECK(s.kernels[0].issue_seconds == Approx(11e-6));  // the mark begins 5 us before the operator
  CHECK(s.tail_seconds == Approx((180 - 5 - 116) * 1e-6));
}

TEST_CASE("without marks a step is what lies between two updates of the same optimizer") {
  ToyTrace trace;
  for (int i = 0; i < 3; ++i) add_toy_step(trace, 1000 * i, 100 * i);
  const TracedStep s = step_of(trace.text());
  CHECK(s.steps == 2);
  CHECK(s.kernels.size() == 5);
  CHECK(s.gradients.size() == 2);
}

TEST_CASE(
    "backward passes that give the same gradients are micro-steps, of which the last is kept") {
  ToyTrace trace;
  // Forward and backward alone, then a whole step.
  trace.add("cpu_op", "aten::mm", 1, -200, 10, "\"External id\": 901");
  trace.kernel("gemm", 901, 1, -198, 4, -190, 20);
  trace.add("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 2, -160, 20);
  trace.kernel("gemm", 902, 2, -155, 5, -145, 30);
  for (const double at : {-138.0, -130.0}) {
    trace.add("cpu_op",
              "torch::autograd::AccumulateGrad",
              2,
              at,
              2,
              "\"Input Dims\": [[7]], \"Input type\": [\"float\"]");
  }
  add_toy_step(trace, 0);
  const TracedStep s = step_of(trace.text());
  CHECK(s.micro_steps == 2);
  REQUIRE(s.gradients.size() == 2);
  CHECK(s.gradients[0].elements == 2048);
  CHECK(s.gradients[0].after == 5);
  CHECK(s.backward_end == 6);
}

TEST_CASE("parameters without recorded sizes are shared out as backward's time is") {
  ToyTrace trace;
  add_toy_step(trace, 0, 0, false);
  TracedStep s = step_of(trace.text());
  CHECK_FALSE(s.sizes_recorded);
  CHECK(s.kernels[0].work == no_operator);
  share_out_parameters(s, 70000);
  // 30 us before the first gradient, 5 us before the second.
  CHECK(s.gradients[0].elements == 60000);
  CHECK(s.gradients[1].elements == 10000);
  CHECK(parameter_count(s) == 70000);
}

TEST_CASE("a trace that is no training step is refused by what it lacks") {
  ToyTrace forward;
  forward.add("cpu_op", "aten::mm", 1, 0, 10, "\"External id\": 1");
  forward.kernel("gemm", 1, 1, 2, 4, 10, 20);
  CHECK_THAT(message_of([&] { step_of(forward.text()); }),
             match::ContainsSubstring("no backward pass"));

  ToyTrace frozen = forward;
  frozen.add("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 2, 40, 20);
  CHECK_THAT(message_of([&] { step_of(frozen.text()); }),
             match::ContainsSubstring("no gradient to a parameter"));

  ToyTrace unlaunched;
  unlaunched.add("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 2, 40, 20);
  unlaunched.add("cpu_op", "torch::autograd::AccumulateGrad", 2, 45, 2);
  unlaunched.add("kernel", "gemm", 7, 10, 20, "\"correlation\": 5");
  CHECK_THAT(message_of([&] { step_of(unlaunched.text()); }),
             match::ContainsSubstring("led back to the call that launched it"));
}

TEST_CASE("marked steps of which only some update are micro-steps of those that do") {
  // Steps 0 to 6 of 200 us; 2, 4 and 6 update. The group of 0 to 2 may have begun before the file.
  TraceSurvey survey;
  for (int i = 0; i < 7; ++i) {
    survey.marks.push_back(
        {TraceMark::Kind::step, "ProfilerStep#" + std::to_string(i), {200.0 * i, 200, 1}});
    if (i % 2 == 0 && i > 0) {
      survey.marks.push_back(
          {TraceMark::Kind::optimizer, "Optimizer.step#SGD.step", {200.0 * i + 150, 20, 1}});
    }
  }
  const TraceWindow window = steady_window(survey);
  CHECK(window.steps == 2);
  CHECK(window.begin == 600);
  CHECK(window.end == 1000);
  CHECK(window.name == "ProfilerStep#4");
}
