// Rates of compute and communication beside each other, from points made with known ones.
#include "model/fit/fit_overlap.h"

#include <stdexcept>

#include "tests/catch2.h"

using namespace stepsight;

namespace {

using W = OverlapWork;

OverlapPoint compute_point(W victim, double bytes, double rate, std::int64_t channels = 0) {
  OverlapPoint p;
  p.victim = victim;
  p.aggressor = W::collective;
  p.bytes = bytes;
  p.channels = channels;
  p.rate = rate;
  return p;
}

// A collective beside compute: `wait_us` for multiprocessors, then at `rate`.
OverlapPoint collective_point(const char* name, double alone_us, double wait_us, double rate) {
  OverlapPoint p;
  p.victim = W::collective;
  p.aggressor = W::gemm;
  p.victim_name = name;
  p.aggressor_name = "gemm_8192";
  p.alone_us = alone_us;
  p.beside_us = wait_us + alone_us / rate;
  p.rate = p.alone_us / p.beside_us;
  return p;
}

}  // namespace

TEST_CASE("compute slows by what large messages cost it, not by small ones that mostly wait") {
  const std::vector<OverlapPoint> points{compute_point(W::gemm, 4e6, 0.99),
                                         compute_point(W::gemm, 1e8, 0.90),
                                         compute_point(W::gemm, 4e8, 0.80),
                                         compute_point(W::gemm, 4e8, 0.82),
                                         compute_point(W::gemm, 4e8, 0.81),
                                         compute_point(W::memory, 4e8, 0.60)};
  const auto gemm = fit_overlap_rate(points, "compute_under_collective", 132);
  REQUIRE(gemm);
  CHECK(gemm->value == 0.81);
  CHECK(gemm->sd == Approx(0.01));
  CHECK(gemm->points.size() == 3);
  CHECK(fit_overlap_rate(points, "memory_under_collective", 132)->value == 0.60);
}

TEST_CASE("products of few and of many rounds agree on how late a collective makes them") {
  // 132 multiprocessors, two rounds late: 4 rounds of tiles, 16, and one that is all late.
  const auto named = [](const char* name, double rate) {
    OverlapPoint p = compute_point(W::gemm, 4e8, rate);
    p.victim_name = name;
    return p;
  };
  const std::vector<OverlapPoint> points{named("gemm_4096_4096_1024", 4.0 / 6),
                                         named("gemm_8192", 16.0 / 18),
                                         named("gemm_2048", 0.3)};
  const auto gemm = fit_overlap_rate(points, "compute_under_collective", 132);
  REQUIRE(gemm);
  CHECK(gemm->value == Approx(8.0 / 10));
  CHECK(gemm->sd < 1e-9);
  CHECK(gemm->points.size() == 2);
  // A name that is no size counts as it was measured.
  CHECK(fit_overlap_rate({named("gemm_big", 0.7)}, "compute_under_collective", 132)->value == 0.7);
}

TEST_CASE("a number of channels that somebody chose counts only where nothing else was measured") {
  std::vector<OverlapPoint> points{compute_point(W::gemm, 4e8, 0.95, 4),
                                   compute_point(W::gemm, 4e8, 0.70, 32)};
  CHECK(fit_overlap_rate(points, "compute_under_collective", 132)->points.size() == 2);
  points.push_back(compute_point(W::gemm, 4e8, 0.85));
  CHECK(fit_overlap_rate(points, "compute_under_collective", 132)->value == 0.85);
}

TEST_CASE("a collective's rate is what a further byte costs, whatever its kernels wait for") {
  std::vector<OverlapPoint> points;
  for (const char* name : {"all_reduce", "all_gather"}) {
    for (const double alone : {20.0, 90.0, 350.0, 1400.0}) {
      points.push_back(collective_point(name, alone, 700, 0.88));
    }
  }
  const auto rate = fit_overlap_rate(points, "collective_under_compute", 132);
  REQUIRE(rate);
  CHECK(rate->value == Approx(0.88).epsilon(1e-6));
  CHECK(rate->sd < 1e-6);
  CHECK(rate->points.size() == 8);
}

TEST_CASE("a wait below zero is noise: then the line goes through nothing") {
  const std::vector<OverlapPoint> points{collective_point("all_reduce", 100, -5, 0.9),
                                         collective_point("all_reduce", 1000, -5, 0.9)};
  const double rate = fit_overlap_rate(points, "collective_under_compute", 132)->value;
  CHECK(rate >= 0.9);
  CHECK(rate <= 0.95);
}

TEST_CASE("one size of a collective gives its own rate") {
  const std::vector<OverlapPoint> points{collective_point("all_reduce", 100, 100, 1)};
  CHECK(fit_overlap_rate(points, "collective_under_compute", 132)->value == 0.5);
}

TEST_CASE("copies slow products and memory-bound kernels as one, and nothing gives no rate") {
  OverlapPoint p;
  p.victim = W::gemm;
  p.aggressor = W::copy;
  p.rate = 0.98;
  std::vector<OverlapPoint> points{p};
  p.victim = W::memory;
  points.push_back(p);
  CHECK(fit_overlap_rate(points, "compute_under_copy", 132)->points.size() == 2);
  CHECK_FALSE(fit_overlap_rate(points, "copy_under_compute", 132));
  CHECK_FALSE(fit_overlap_rate({}, "collective_under_memory", 132));
  CHECK_THROWS_AS(fit_overlap_rate(points, "compute_under_rain", 132), std::logic_error);
}
