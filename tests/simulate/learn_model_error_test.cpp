#include "simulate/learn_model_error.h"

#include <cmath>
#include <random>

#include "model/errors.h"
#include "model/io/model_error_file.h"
#include "tests/catch2.h"

namespace stepsight {
namespace {

constexpr std::size_t host = static_cast<std::size_t>(ErrorTerm::host);
constexpr std::size_t any = static_cast<std::size_t>(ErrorTerm::any);

// Runs whose error has a spread of 0.02 everywhere and of 0.3 times the host's share.
std::vector<ErrorSample> made_up(int groups, int rows) {
  std::mt19937_64 random(7);
  std::vector<ErrorSample> out;
  for (int g = 0; g < groups; ++g) {
    for (int i = 0; i < rows; ++i) {
      ErrorSample s;
      s.group = "group " + std::to_string(g);
      s.same_work = s.group + std::to_string(i / 2);
      s.gpus = 1 + i % 2;
      s.uncertainty.shares[any] = 1;
      s.uncertainty.shares[host] = static_cast<double>(i % 4) / 3;
      const double sd = std::hypot(0.02, 0.3 * s.uncertainty.shares[host]);
      s.log_error = std::normal_distribution<double>(0, sd)(random);
      out.push_back(s);
    }
  }
  return out;
}

TEST_CASE("Spreads that made the errors are found again") {
  const ModelError e = learn_model_error(made_up(20, 100));
  CHECK(e.sd[any] == Approx(0.02).epsilon(0.25));
  CHECK(e.sd[host] == Approx(0.3).epsilon(0.25));
  CHECK(e.rows == 2000);
  CHECK(e.groups == 20);
  // A normal distribution under a Student t's scale: the quantiles make up for it.
  CHECK(e.high * e.sd[host] == Approx(1.645 * 0.3).epsilon(0.15));
  CHECK(-e.low * e.sd[host] == Approx(1.645 * 0.3).epsilon(0.15));
}

TEST_CASE("Intervals learnt on other groups hold nine of ten") {
  const std::vector<ErrorSample> samples = made_up(20, 100);
  const std::vector<LogInterval> intervals = held_out_intervals(samples);
  REQUIRE(intervals.size() == samples.size());
  int inside = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    CHECK(intervals[i].low < 0);
    CHECK(intervals[i].high > 0);
    inside += samples[i].log_error >= intervals[i].low && samples[i].log_error <= intervals[i].high;
  }
  CHECK(inside > 1740);
  CHECK(inside < 1860);
}

TEST_CASE("A group teaches nothing about its own intervals") {
  std::vector<ErrorSample> samples = made_up(20, 50);
  const std::vector<LogInterval> before = held_out_intervals(samples);
  for (ErrorSample& s : samples) {
    if (s.group == "group 3") s.log_error = 5;
  }
  const std::vector<LogInterval> after = held_out_intervals(samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].group == "group 3") CHECK(after[i].high == before[i].high);
  }
}

TEST_CASE("A handful of runs is refused") {
  CHECK_THROWS_AS(learn_model_error(made_up(1, 19)), UserError);
}

TEST_CASE("A source's project and the card make a group") {
  CHECK(error_group("owner/name:docs/a.md", "h100-sxm") ==
        error_group("owner/name:b.md", "h100-sxm"));
  CHECK(error_group("owner/name:a", "h100-sxm") != error_group("owner/name:a", "a100-sxm-80"));
}

TEST_CASE("What was learnt is read as it was written") {
  ModelError e = learn_model_error(made_up(3, 40));
  e.held_out_coverage = 0.9;
  e.sources = {"a \"quoted\" file.csv"};
  const ModelError read = read_model_error_text("m.toml", model_error_text(e));
  for (std::size_t i = 0; i < e.sd.size(); ++i) CHECK(read.sd[i] == Approx(e.sd[i]).margin(1e-4));
  CHECK(read.low == Approx(e.low).margin(1e-4));
  CHECK(read.ratio_sd == Approx(e.ratio_sd).margin(1e-4));
  CHECK(read.sources == e.sources);
  CHECK_THROWS_AS(read_model_error_text("m.toml", "schema = 1\nlow = 3\n"), UserError);
}

TEST_CASE("The built-in error is learnt from many groups and holds nine of ten of others") {
  const ModelError e = read_model_error();
  CHECK(e.groups >= 30);
  CHECK(e.held_out_coverage > 0.85);
  CHECK(e.held_out_coverage < 0.95);
}

}  // namespace
}  // namespace stepsight
