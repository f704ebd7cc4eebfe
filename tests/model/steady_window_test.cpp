#include "model/steady_window.h"

#include "tests/catch2.h"

using namespace stepsight;

namespace {

std::vector<LoggedStep> run(std::initializer_list<double> seconds) {
  std::vector<LoggedStep> out;
  for (const double s : seconds)
    out.push_back({static_cast<std::int64_t>(out.size()), 1, s, {}, {}, {}});
  return out;
}

}  // namespace

TEST_CASE("warm-up is cut off in front and its time is kept") {
  const auto w = steady_window(run({30, 2, 1.5, 1, 1, 1, 1, 1, 1, 1, 1, 1})).value();
  CHECK(w.first == 3);
  CHECK(w.warm_up_seconds == 33.5);
  CHECK(w.step_seconds == 1);
  CHECK(w.stall_count == 0);
}

TEST_CASE("periodic stalls are told apart from steps, with their distance and share") {
  std::vector<LoggedStep> steps;
  for (int i = 0; i < 400; ++i) steps.push_back({i, 1, i % 100 == 50 ? 11.0 : 1.0, {}, {}, {}});
  const auto w = steady_window(steps).value();
  CHECK(w.first == 0);
  CHECK(w.step_seconds == 1);
  CHECK(w.stall_count == 4);
  CHECK(w.stalls.front().index == 50);
  CHECK(w.stalls.front().extra_seconds == 10);
  CHECK(w.stall_every == 100);
  CHECK(w.mean_seconds == Approx(1.1));  // (396 + 44) / 400
  CHECK(w.stall_share == Approx(40.0 / 440.0));
}

TEST_CASE("a noisy run without warm-up stays whole") {
  std::vector<LoggedStep> steps;
  for (int i = 0; i < 50; ++i) steps.push_back({i, 1, 1.0 + 0.1 * (i % 5), {}, {}, {}});
  const auto w = steady_window(steps).value();
  CHECK(w.first == 0);
  CHECK(w.stall_count == 0);
  CHECK(w.low_seconds == Approx(1.1));
  CHECK(w.high_seconds == Approx(1.3));
}

TEST_CASE("entries count by the steps that they cover") {
  const std::vector<LoggedStep> steps{
      {10, 10, 1.0, 0.5, {}, {}}, {11, 1, 1.2, 0.1, {}, {}}, {12, 1, 1.2, {}, {}, {}}};
  const auto w = steady_window(steps).value();
  CHECK(w.step_seconds == 1.0);
  CHECK(w.mean_seconds == Approx((10 + 2.4) / 12));
  CHECK(w.data_seconds == Approx(5.1 / 11));
}

TEST_CASE("one step is its own steady state, none has none") {
  CHECK(steady_window(run({2.5}))->step_seconds == 2.5);
  CHECK_FALSE(steady_window({}));
}
