#include "calibrate/measure/power_mixes.h"

#include <set>
#include <stdexcept>
#include <string_view>

#include "tests/catch2.h"

namespace stepsight::calibrate {
namespace {

// Measured on an H200 in short bursts: 8192^3 in bf16, 4096 x 4096 x 1024, a copy of 1 GiB.
constexpr double large_us = 1450;
constexpr double small_us = 55;
constexpr double copy_us = 525;

const PowerMix& mix_named(std::string_view name) {
  for (const PowerMix& mix : power_mixes) {
    if (mix.name == name) return mix;
  }
  throw std::logic_error("no such mix");
}

double product_us_of(const PowerMix& mix) {
  return mix.product == MixProduct::small ? small_us : large_us;
}

double busy_us(const PowerMix& mix, const Slice& slice) {
  return static_cast<double>(slice.products) * product_us_of(mix) +
         static_cast<double>(slice.copies) * copy_us;
}

}  // namespace

TEST_CASE("mixes have names of their own, shares from nothing to all, and one is idle") {
  std::set<std::string_view> names;
  int idle = 0;
  for (const PowerMix& mix : power_mixes) {
    names.insert(mix.name);
    CHECK(mix.product_share >= 0);
    CHECK(mix.product_share <= 1);
    CHECK(mix.duty >= 0);
    CHECK(mix.duty <= 1);
    CHECK((mix.product == MixProduct::none) == (mix.product_share == 0));
    idle += mix.duty == 0 ? 1 : 0;
  }
  CHECK(names.size() == power_mixes.size());
  CHECK(idle == 1);
}

TEST_CASE("four mixes already hold products alone, copies alone, both, and rest") {
  bool products = false;
  bool copies = false;
  bool both = false;
  bool rest = false;
  for (std::size_t i = 0; i < 4; ++i) {
    const PowerMix& mix = power_mixes[i];
    products = products || (mix.product_share == 1 && mix.duty == 1);
    copies = copies || (mix.product_share == 0 && mix.duty == 1);
    both = both || (mix.product_share > 0 && mix.product_share < 1);
    rest = rest || mix.duty == 0;
  }
  CHECK(products);
  CHECK(copies);
  CHECK(both);
  CHECK(rest);
}

TEST_CASE("the slices of an H200 have the share of products that their mix asks for") {
  for (const PowerMix& mix : power_mixes) {
    if (mix.duty == 0) continue;
    const Slice slice = slice_of(mix, product_us_of(mix), copy_us);
    const double busy = busy_us(mix, slice);
    const double share = static_cast<double>(slice.products) * product_us_of(mix) / busy;
    CHECK(share == Approx(mix.product_share).margin(0.035));
    CHECK(busy > 1500);
    CHECK(busy < 9000);
  }
}

TEST_CASE("half of each takes one product and three copies on an H200") {
  // 3 x 525 = 1575 us beside 1450: 47.9 %. Three products and eight copies come closer, 50.9 %, but
  // the work of a step alternates faster than that: the smaller slice is close enough.
  const Slice slice = slice_of(mix_named("gemm_8192 50 %"), large_us, copy_us);
  CHECK(slice.products == 1);
  CHECK(slice.copies == 3);
}

TEST_CASE("slices of one kind of work fill five milliseconds") {
  const Slice small = slice_of(mix_named("gemm_4096_4096_1024"), small_us, copy_us);
  CHECK(small.products == 91);
  CHECK(small.copies == 0);
  const Slice copies = slice_of(mix_named("copy"), large_us, copy_us);
  CHECK(copies.products == 0);
  CHECK(copies.copies == 10);
}

TEST_CASE("a slow card gets one instance a slice at least, and a fast one no endless queue") {
  CHECK(slice_of(mix_named("gemm_8192"), 60000, 8000).products == 1);
  const Slice slice = slice_of(mix_named("gemm_8192 25 %"), 60000, 50);
  CHECK(slice.products == 1);
  CHECK(slice.copies == 20);
}

TEST_CASE("a mix of both always has both") {
  for (const double product_us : {1.0, 1e2, 1e4, 1e6}) {
    for (const PowerMix& mix : power_mixes) {
      if (mix.product_share <= 0 || mix.product_share >= 1) continue;
      const Slice slice = slice_of(mix, product_us, copy_us);
      CHECK(slice.products >= 1);
      CHECK(slice.copies >= 1);
    }
  }
}

TEST_CASE("times that are not positive are a bug") {
  CHECK_THROWS_AS(slice_of(power_mixes[0], 0, 1), std::logic_error);
  CHECK_THROWS_AS(slice_of(power_mixes[0], 1, -1), std::logic_error);
}

TEST_CASE("a gap makes the share at work that the mix asks for") {
  for (const PowerMix& mix : power_mixes) {
    if (mix.duty == 0) continue;
    CHECK(5000 / (5000 + gap_us(mix, 5000)) == Approx(mix.duty));
  }
  CHECK(gap_us(mix_named("copy"), 5000) == 0);
}

TEST_CASE("all mixes fit into the time of a run, and into less when less is given") {
  const auto all_s = [](const MixTimes& times) {
    return static_cast<double>(power_mixes.size()) * (times.settle_s + times.measure_s);
  };
  CHECK(all_s(mix_times(false, 19)) == Approx(9));
  CHECK(all_s(mix_times(true, 29)) == Approx(17));
  CHECK(all_s(mix_times(false, 8)) == Approx(8));
  CHECK(all_s(mix_times(true, 10)) == Approx(10));
}

TEST_CASE("a mix is measured long enough for the energy counter to move several times") {
  CHECK(mix_times(false, 0).measure_s == Approx(0.2));
  CHECK(mix_times(false, -3).measure_s == Approx(0.2));
}

}  // namespace stepsight::calibrate
