#include "calibrate/measure/statistics.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "calibrate/measure/stopping_rule.h"
#include "tests/catch2.h"

namespace stepsight::calibrate {

TEST_CASE("median, quartiles and MAD of eight samples are those worked out by hand") {
  // sorted 1 2 3 4 5 6 7 100; positions 3.5, 1.75, 5.25; deviations from 4.5 sorted
  // .5 .5 1.5 1.5 2.5 2.5 3.5 95.5, so their median is 2.
  const std::vector<double> samples{7, 1, 100, 3, 5, 2, 6, 4};
  const Summary s = summarize(samples);
  CHECK(s.median == 4.5);
  CHECK(s.q1 == 2.75);
  CHECK(s.q3 == 6.25);
  CHECK(s.mad == 2);
  CHECK(s.min == 1);
  CHECK(s.n == 8);
}

TEST_CASE("one sample is its own median and quartiles") {
  const std::vector<double> one{3};
  const Summary s = summarize(one);
  CHECK(s.median == 3);
  CHECK(s.q1 == 3);
  CHECK(s.q3 == 3);
  CHECK(relative_spread(s) == 0);
}

TEST_CASE("no samples have no summary") {
  CHECK_THROWS_AS(summarize(std::vector<double>{}), std::logic_error);
}

TEST_CASE("scaling keeps the relative spread and the count") {
  const Summary s = summarize(std::vector<double>{9, 10, 11, 12, 10});
  const Summary t = scaled(s, 1e6);
  CHECK(t.median == 1e7);
  CHECK(t.n == 5);
  CHECK(relative_spread(t) == Approx(relative_spread(s)));
}

TEST_CASE("the spread of the median is sqrt(pi/2) * 1.4826 MAD / sqrt(n) of the median") {
  // median 100, MAD 10, n = 4
  const Summary s{.median = 100, .q1 = 90, .q3 = 110, .mad = 10, .min = 80, .n = 4};
  CHECK(relative_spread(s) == Approx(std::sqrt(std::acos(-1.0) / 2) * 1.4826 * 10 / 2 / 100));
}

TEST_CASE("a line through exact copies gives back its start-up cost and bandwidth") {
  std::vector<double> bytes;
  std::vector<double> seconds;
  for (double x = 1024; x < 1e9; x *= 4) {
    bytes.push_back(x);
    seconds.push_back(9e-6 + x / 55e9);
  }
  const StartupFit fit = fit_startup(bytes, seconds);
  CHECK(fit.startup_s == Approx(9e-6).epsilon(1e-9));
  CHECK(fit.bytes_per_s == Approx(55e9).epsilon(1e-9));
}

TEST_CASE("the start-up cost survives noise of one percent at every size") {
  // Least squares on absolute errors would be off by a percent of the largest copy: 200 us.
  std::vector<double> bytes;
  std::vector<double> seconds;
  double sign = 1;
  for (double x = 1024; x < 2e9; x *= 2) {
    bytes.push_back(x);
    seconds.push_back((9e-6 + x / 55e9) * (1 + 0.01 * sign));
    sign = -sign;
  }
  const StartupFit fit = fit_startup(bytes, seconds);
  CHECK(fit.startup_s == Approx(9e-6).epsilon(0.02));
  CHECK(fit.bytes_per_s == Approx(55e9).epsilon(0.02));
}

TEST_CASE("a start-up cost is never negative") {
  const std::vector<double> bytes{1, 2, 4};
  const std::vector<double> seconds{0.5, 2, 5};
  const StartupFit fit = fit_startup(bytes, seconds);
  CHECK(fit.startup_s == 0);
  CHECK(fit.bytes_per_s > 0);
}

TEST_CASE("a line needs two sizes and positive times") {
  const std::vector<double> same{8, 8, 8};
  const std::vector<double> times{1, 1, 1};
  CHECK_THROWS_AS(fit_startup(same, times), std::logic_error);
  CHECK_THROWS_AS(fit_startup(std::vector<double>{1, 2}, std::vector<double>{0, 1}),
                  std::logic_error);
  CHECK_THROWS_AS(fit_startup(same, std::vector<double>{1}), std::logic_error);
}

TEST_CASE("times that jump between two clocks are not taken for certain") {
  // Three of five are equal, so the MAD is 0; the quartiles 0.9 and 1.1 are not.
  const Summary s = summarize(std::vector<double>{0.9, 1.1, 0.9, 1.1, 0.9});
  CHECK(s.mad == Approx(0).margin(1e-15));
  CHECK(relative_spread(s) > 0.05);
}

TEST_CASE("equal samples stop as soon as there are enough of them") {
  const StoppingRule rule{.min_samples = 5};
  std::vector<double> samples(4, 1.0);
  CHECK(judge(rule, samples, 0) == StopReason::keep_going);
  samples.push_back(1.0);
  CHECK(judge(rule, samples, 0) == StopReason::spread_reached);
}

TEST_CASE("noisy samples go on until the median is as certain as asked") {
  // 1 +- 0.1 in turn: sigma = 0.148, so the spread is 0.186 / sqrt(n) for even n (median 1) and
  // more for odd n (median 0.9); 2 % takes an even n of 87 or more.
  const StoppingRule rule{.min_samples = 5, .max_samples = 1000, .target_spread = 0.02};
  std::vector<double> samples;
  while (judge(rule, samples, 0) == StopReason::keep_going) {
    samples.push_back(samples.size() % 2 == 0 ? 0.9 : 1.1);
  }
  CHECK(judge(rule, samples, 0) == StopReason::spread_reached);
  CHECK(samples.size() == 88);
}

TEST_CASE("samples that never settle end at the largest count") {
  const StoppingRule rule{.min_samples = 5, .max_samples = 20, .target_spread = 0.001};
  std::vector<double> samples;
  while (judge(rule, samples, 0) == StopReason::keep_going) {
    samples.push_back(samples.size() % 2 == 0 ? 1.0 : 3.0);
  }
  CHECK(samples.size() == 20);
  CHECK(judge(rule, samples, 0) == StopReason::samples_exhausted);
}

TEST_CASE("a spent budget ends a point, but not before it has its least samples") {
  const StoppingRule rule{.min_samples = 5, .budget_s = 0.1, .least_samples = 3};
  const std::vector<double> samples{1, 2, 3};
  CHECK(judge(rule, std::span(samples).first(2), 10) == StopReason::keep_going);
  CHECK(judge(rule, samples, 0.099) == StopReason::keep_going);
  CHECK(judge(rule, samples, 0.1) == StopReason::budget_exhausted);
}

}  // namespace stepsight::calibrate
