// Points of a sweep, quickly, against the study that also gives intervals and causes.
#include "simulate/quick_study.h"

#include "model/errors.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

namespace stepsight {

namespace {

// Every kind of step that one run of its program tells apart from another.
std::vector<Scenario> every_kind() {
  std::vector<Scenario> out;
  for (const std::int64_t gpus : {1, 2, 4, 8}) out.push_back(toy_scenario(gpus));
  Scenario s = toy_scenario(4);
  s.parallel.strategy = Strategy::fsdp;
  out.push_back(s);
  s = toy_scenario(4);
  s.training.accumulation = 8;
  s.parallel.pipeline = 2;
  out.push_back(s);
  s = toy_scenario(4);
  s.irregular.slow_factor = 1.2;
  out.push_back(s);
  s = toy_scenario(8);
  s.training.global_batch = 64;
  s.training.batch = 8;
  out.push_back(s);
  s = toy_scenario(4);
  s.training.batch = 3;  // no batch to share out
  out.push_back(s);
  return out;
}

}  // namespace

TEST_CASE(
    "a quick study has the figures of a study, to the last digit, whatever the number of threads") {
  const GpuProfile gpu = with_every_collective(toy_gpu());
  const ProfileOf profile_of = [&](const std::string&) -> const GpuProfile& { return gpu; };
  std::vector<Scenario> points;
  for (int times = 0; times < 5; ++times) {
    for (const Scenario& s : every_kind()) points.push_back(s);
  }
  const std::vector<StudyPoint> slow = study(points, profile_of, {});
  for (const unsigned threads : {1U, 3U}) {
    const std::vector<QuickPoint> quick = quick_study(points, profile_of, threads);
    REQUIRE(quick.size() == slow.size());
    for (std::size_t i = 0; i < quick.size(); ++i) {
      INFO(i % every_kind().size());
      const QuickPoint& q = quick[i];
      const StudyPoint& s = slow[i];
      CHECK(q.scenario.cluster.gpus == s.scenario.cluster.gpus);
      CHECK(q.prediction.step.value == s.prediction.step.value);
      CHECK(q.prediction.tokens_per_s == Approx(s.prediction.tokens_per_s).epsilon(1e-14));
      CHECK(q.prediction.mfu == Approx(s.prediction.mfu).epsilon(1e-14));
      CHECK(q.prediction.exposed_s == s.prediction.exposed_s);
      CHECK(q.prediction.needed_bytes == s.prediction.memory.needed);
      CHECK(q.prediction.fits == s.prediction.memory.fits);
      CHECK(q.weak.speedup == s.weak.scaling.speedup);
      CHECK(q.weak.efficiency == s.weak.scaling.efficiency);
      REQUIRE(q.strong.has_value() == s.strong.has_value());
      if (q.strong) CHECK(q.strong->speedup == s.strong->scaling.speedup);
    }
  }
}

TEST_CASE("the first point that cannot be ends a quick study, whatever the number of threads") {
  const GpuProfile gpu = toy_gpu();
  const ProfileOf profile_of = [&](const std::string&) -> const GpuProfile& { return gpu; };
  std::vector<Scenario> points(100, toy_scenario(2));
  points[40].cluster.link = "first";
  points[90].cluster.link = "second";
  for (const unsigned threads : {1U, 4U}) {
    CHECK_THROWS_WITH(quick_study(points, profile_of, threads), match::ContainsSubstring("first"));
  }
}

}  // namespace stepsight
