#include "calibrate/measure/gemm_design.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "tests/catch2.h"

namespace stepsight::calibrate {
namespace {

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, Dtype, GemmLayout>;

Key key(const GemmShape& s) {
  return {s.m, s.n, s.k, s.dtype, s.layout};
}

double share(const std::vector<GemmShape>& design,
             std::size_t prefix,
             const std::function<bool(const GemmShape&)>& wanted) {
  const auto end = design.begin() + static_cast<std::ptrdiff_t>(prefix);
  return static_cast<double>(std::count_if(design.begin(), end, wanted)) /
         static_cast<double>(prefix);
}

bool misaligned(const GemmShape& s) {
  return s.m % 8 != 0 || s.n % 8 != 0 || s.k % 8 != 0;
}

}  // namespace

TEST_CASE("the design has about 350 shapes for a quick run and 1400 for a full one") {
  CHECK(gemm_design(false).size() >= 340);
  CHECK(gemm_design(false).size() <= 360);
  CHECK(gemm_design(true).size() >= 1380);
  CHECK(gemm_design(true).size() <= 1420);
}

TEST_CASE("no shape is measured twice and each design is the same every time") {
  for (const bool full : {false, true}) {
    const auto design = gemm_design(full);
    std::set<Key> keys;
    for (const GemmShape& s : design) keys.insert(key(s));
    CHECK(keys.size() == design.size());
    CHECK(design == gemm_design(full));
  }
}

TEST_CASE("every round has other shapes of the same kinds") {
  std::set<Key> keys;
  std::size_t measured = 0;
  for (std::int64_t round = 1; round <= 3; ++round) {
    const auto design = gemm_design(true, round);
    CHECK(design.size() > 900);
    CHECK(std::any_of(design.begin(), design.end(), misaligned));
    for (const GemmShape& s : design) keys.insert(key(s));
    measured += design.size();
  }
  CHECK(keys.size() == measured);
}

TEST_CASE("a full run measures what a quick one has, so that it can go on from it") {
  std::set<Key> full;
  for (const GemmShape& s : gemm_design(true)) full.insert(key(s));
  for (const GemmShape& s : gemm_design(false)) CHECK(full.contains(key(s)));
}

TEST_CASE("bf16 has seven parts of ten and every other format its share, in every prefix") {
  for (const bool full : {false, true}) {
    const auto design = gemm_design(full);
    for (const std::size_t prefix : {design.size() / 4, design.size() / 2, design.size()}) {
      for (const DtypeInfo& row : dtypes) {
        const double part =
            share(design, prefix, [&](const GemmShape& s) { return s.dtype == row.dtype; });
        CHECK(part == Approx(row.dtype == Dtype::bf16 ? 0.69 : 0.077).margin(0.03));
      }
    }
  }
}

TEST_CASE("every prefix holds misaligned, skinny and large shapes and all layouts") {
  const auto design = gemm_design(false);
  for (const std::size_t prefix : {60U, 120U, 240U}) {
    CHECK(share(design, prefix, misaligned) > 0.08);
    CHECK(share(design, prefix, [](const GemmShape& s) { return std::min(s.m, s.n) <= 64; }) >
          0.02);
    CHECK(share(design, prefix, [](const GemmShape& s) { return flops(s) > 5e12; }) > 0.02);
    for (const GemmLayout layout : {GemmLayout::tn, GemmLayout::nn, GemmLayout::nt}) {
      CHECK(share(design, prefix, [&](const GemmShape& s) { return s.layout == layout; }) > 0.15);
    }
  }
}

TEST_CASE("each dimension along memory is odd, and 2 or 4 modulo 8, often enough to be learnt") {
  // Along memory lie n and k of TN and NN, m and n of NT.
  const auto design = gemm_design(true);
  const auto count = [&](GemmLayout layout, std::int64_t GemmShape::*size, bool odd) {
    return std::count_if(design.begin(), design.end(), [&](const GemmShape& s) {
      return s.dtype == Dtype::bf16 && s.layout == layout && std::min({s.m, s.n, s.k}) > 16 &&
             (odd ? s.*size % 2 == 1 : s.*size % 2 == 0 && s.*size % 8 != 0);
    });
  };
  for (const bool odd : {true, false}) {
    for (const GemmLayout layout : {GemmLayout::tn, GemmLayout::nn}) {
      CHECK(count(layout, &GemmShape::n, odd) >= 16);
      CHECK(count(layout, &GemmShape::k, odd) >= 16);
    }
    CHECK(count(GemmLayout::nt, &GemmShape::m, odd) >= 16);
    CHECK(count(GemmLayout::nt, &GemmShape::n, odd) >= 16);
  }
}

TEST_CASE("products of few tokens, of narrow layers and of little depth are there down to 1") {
  const auto design = gemm_design(true);
  const auto count = [&](const std::function<bool(const GemmShape&)>& wanted) {
    return std::count_if(design.begin(), design.end(), [&](const GemmShape& s) {
      return s.dtype == Dtype::bf16 && flops(s) < 1e12 && wanted(s);
    });
  };
  CHECK(count([](const GemmShape& s) { return s.m <= 16; }) >= 40);
  CHECK(count([](const GemmShape& s) { return s.n <= 16; }) >= 15);
  CHECK(count([](const GemmShape& s) { return s.k <= 16; }) >= 30);
  CHECK(count([](const GemmShape& s) { return s.m == 1; }) >= 3);
  CHECK(count([](const GemmShape& s) { return s.n == 1; }) >= 2);
  CHECK(count([](const GemmShape& s) { return s.k == 1; }) >= 3);
}

TEST_CASE("leaving out a fifth leaves a misaligned shape others of its kind nearby") {
  // Of one layout, with the same of the two dimensions along memory odd, each size within a factor
  // of four.
  const auto along = [](const GemmShape& s) { return s.layout == GemmLayout::nt ? s.m : s.k; };
  std::vector<GemmShape> odd;
  for (const GemmShape& s : gemm_design(true)) {
    if (s.dtype == Dtype::bf16 && (along(s) % 2 == 1 || s.n % 2 == 1) &&
        std::min({s.m, s.n, s.k}) > 16) {
      odd.push_back(s);
    }
  }
  const auto near = [](std::int64_t a, std::int64_t b) { return a <= 4 * b && b <= 4 * a; };
  const auto alike = [](std::int64_t a, std::int64_t b) { return a % 2 == b % 2; };
  std::size_t lonely = 0;
  for (const GemmShape& s : odd) {
    const auto neighbours = std::count_if(odd.begin(), odd.end(), [&](const GemmShape& other) {
      return s.layout == other.layout && near(s.m, other.m) && near(s.n, other.n) &&
             near(s.k, other.k) && alike(s.n, other.n) && alike(along(s), along(other));
    });
    if (neighbours - 1 < 3) ++lonely;
  }
  CHECK(odd.size() >= 150);
  CHECK(static_cast<double>(lonely) < 0.2 * static_cast<double>(odd.size()));
}

TEST_CASE("the weight gradient of the head contracts over tokens") {
  bool found = false;
  for (const GemmShape& s : gemm_design(true)) {
    found = found || (s.layout == GemmLayout::nt && s.m == 50257 && s.k >= 512);
  }
  CHECK(found);
}

TEST_CASE("fp8 is asked only in the layout and alignment that cards have") {
  for (const GemmShape& s : gemm_design(true)) {
    if (s.dtype != Dtype::fp8) continue;
    CHECK(s.layout == GemmLayout::tn);
    CHECK(s.m % 16 + s.n % 16 + s.k % 16 == 0);
  }
}

TEST_CASE("a full design is some seconds of work for an H200 if each shape runs once") {
  // Dense rates of the data sheet, halved: fp32, tf32, fp16, bf16, fp8.
  const std::map<Dtype, double> rates{{Dtype::fp32, 33e12},
                                      {Dtype::tf32, 247e12},
                                      {Dtype::fp16, 494e12},
                                      {Dtype::bf16, 494e12},
                                      {Dtype::fp8, 989e12}};
  double seconds = 0;
  for (const GemmShape& s : gemm_design(true)) seconds += flops(s) / rates.at(s.dtype);
  CHECK(seconds < 8);
  CHECK(seconds > 1);
}

TEST_CASE("an fp8 product writes bf16, tf32 lies in memory as fp32") {
  const GemmShape fp8{.m = 16, .n = 32, .k = 48, .dtype = Dtype::fp8};
  CHECK(left_bytes(fp8) == 16 * 48);
  CHECK(right_bytes(fp8) == 32 * 48);
  CHECK(output_bytes(fp8) == 16 * 32 * 2);
  const GemmShape tf32{.m = 16, .n = 32, .k = 48, .dtype = Dtype::tf32};
  CHECK(left_bytes(tf32) == 4 * 16 * 48);
  CHECK(output_bytes(tf32) == 4 * 16 * 32);
  CHECK(flops(tf32) == 2.0 * 16 * 32 * 48);
}

}  // namespace stepsight::calibrate
