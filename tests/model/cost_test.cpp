// The formulas by hand, and what the measured points do to them. What must hold for any shape and
// any parameters is in tests/property/cost_property_test.cpp.
#include "model/cost.h"

#include "model/profile.h"
#include "tests/catch2.h"
#include "tests/model/toy_gpu.h"

using namespace stepsight;

namespace {

// 1 PFLOP/s on 100 multiprocessors: 10 TFLOP/s each. Nothing else costs anything.
GemmParameters<double> plain_gemm() {
  GemmParameters<double> p;
  p.peak_TFLOPS = 1000;
  p.bandwidth_TBps = 20;
  p.write_cost = 1;
  p.rows8_slowdown = 2;
  p.rows4_slowdown = 3;
  p.rows2_slowdown = 5;
  p.odd_n_slowdown = 1;
  p.misaligned_k_slowdown = 1;
  p.nn_slowdown = 1;
  p.nt_slowdown = 1;
  return p;
}

double us(const Gemm& gemm, const GemmParameters<double>& p) {
  return gemm_formula(gemm, p, {100}).value * 1e6;
}

}  // namespace

TEST_CASE("a product that fills every multiprocessor runs at the peak rate") {
  // 100 tiles of 128 x 128, k = 8192: 2 x 1280 x 1280 x 8192 FLOP at 1 PFLOP/s = 26.84 us. The
  // bytes (45 MB at 20 TB/s = 2.3 us) vanish in the smooth maximum.
  CHECK(us({1280, 1280, 8192}, plain_gemm()) == Approx(26.84).epsilon(1e-3));
}

TEST_CASE("a part wave costs a whole one as far as the wave weight says") {
  GemmParameters<double> p = plain_gemm();
  p.tile_edge = 256;  // only the largest tiles are worth taking
  p.wave_weight = 1;
  const Gemm whole{160 * 10, 256 * 10, 8192};       // 100 tiles of 160 x 256: one wave
  const Gemm more{160 * 10, 256 * 10 + 256, 8192};  // 110 tiles: two
  const double one = us(whole, p);
  CHECK(us(more, p) > 1.2 * one);
  p.wave_weight = 0;
  CHECK(us(more, p) == Approx(1.1 * one).epsilon(0.01));
}

TEST_CASE("misaligned rows slow the tiles, not the start") {
  GemmParameters<double> p = plain_gemm();
  p.overhead_us = 2;
  const auto busy = [&](std::int64_t n) { return us({1280, n, 8192}, p) - 2; };
  CHECK(busy(1276) == Approx(2 * busy(1280)).epsilon(0.01));
  CHECK(busy(1278) == Approx(3 * busy(1280)).epsilon(0.01));
  CHECK(busy(1279) == Approx(5 * busy(1280)).epsilon(0.01));
}

TEST_CASE("a layout that the tensor cores cannot read as it stands slows the tiles") {
  // tf32 products take both factors along k only, so that NT costs a transposition.
  GemmParameters<double> p = plain_gemm();
  p.nn_slowdown = 1.1;
  p.nt_slowdown = 1.6;
  const auto time = [&](Layout layout) {
    return us({1280, 1280, 8192, 1, Dtype::tf32, layout}, p);
  };
  // Within what the bytes add to each.
  CHECK(time(Layout::NN) == Approx(1.1 * time(Layout::TN)).epsilon(5e-3));
  CHECK(time(Layout::NT) == Approx(1.6 * time(Layout::TN)).epsilon(5e-3));
}

TEST_CASE("alignment looks at the dimensions that run along memory") {
  // TN: rows of k (both factors) and n. NN: k and n. NT: m and n. In bytes of a load, up to 16.
  CHECK(alignment({7, 64, 64, 1, Dtype::bf16, Layout::TN}) == 16);
  CHECK(alignment({64, 50257, 64, 1, Dtype::bf16, Layout::TN}) == 2);
  CHECK(alignment({64, 64, 50258, 1, Dtype::bf16, Layout::NN}) == 4);
  CHECK(alignment({12, 64, 7, 1, Dtype::bf16, Layout::NT}) == 8);
  // Four numbers of four bytes are 16; sixteen of one.
  CHECK(alignment({64, 60, 64, 1, Dtype::tf32, Layout::TN}) == 16);
  CHECK(alignment({64, 62, 64, 1, Dtype::fp32, Layout::TN}) == 8);
  CHECK(alignment({64, 72, 64, 1, Dtype::fp8, Layout::TN}) == 8);
  // A vector has no rows; a product one deep has rows of one element whatever its layout.
  CHECK(alignment({64, 1, 64, 1, Dtype::bf16, Layout::TN}) == 16);
  CHECK(alignment({1, 64, 512, 1, Dtype::bf16, Layout::NT}) == 16);
  CHECK(alignment({64, 1, 63, 1, Dtype::bf16, Layout::NN}) == 2);
  CHECK(alignment({64, 64, 1, 1, Dtype::bf16, Layout::NT}) == 2);
}

TEST_CASE("which rows are misaligned tells beyond how far they are") {
  GemmParameters<double> p = plain_gemm();
  p.odd_n_slowdown = 1.5;
  p.misaligned_k_slowdown = 1.2;
  const auto slow = [&](std::int64_t n, std::int64_t k, Layout layout) {
    return storage_slowdown({1280, n, k, 1, Dtype::bf16, layout}, p);
  };
  CHECK(slow(1280, 8192, Layout::TN) == 1);
  CHECK(slow(1279, 8192, Layout::TN) == Approx(5 * 1.5));  // the result's rows are odd
  CHECK(slow(1279, 8191, Layout::TN) == Approx(5 * 1.2));  // and the factors', too
  CHECK(slow(1280, 8191, Layout::TN) == Approx(5 * 1.2));  // the factors' alone
  CHECK(slow(1280, 8190, Layout::NN) == Approx(3 * 1.2));
  CHECK(slow(1279, 8192, Layout::NN) == Approx(5 * 1.2));
  CHECK(slow(1279, 8191, Layout::NN) == Approx(5 * 1.2));
  CHECK(slow(1278, 8192, Layout::NN) == Approx(3));
  CHECK(slow(1279, 8192, Layout::NT) == Approx(5));
}

TEST_CASE("a byte of the result costs more than one of a factor, as the parameter says") {
  // 8192 x 8192 with k = 8: 134 MB of result, 0.26 MB of factors, at 20 TB/s.
  GemmParameters<double> p = plain_gemm();
  const double equal = us({8192, 8192, 8}, p);
  p.write_cost = 1.5;
  CHECK(us({8192, 8192, 8}, p) == Approx(1.5 * equal).epsilon(0.02));
  // 8 x 16384 x 16384: 537 MB of factors.
  p.write_cost = 1;
  const double few = us({8, 16384, 16384}, p);
  p.write_cost = 1.5;
  CHECK(us({8, 16384, 16384}, p) == Approx(few).epsilon(0.001));
}

TEST_CASE("rows that cannot be loaded in bulk leave fewer tiles to choose from") {
  // 100 multiprocessors: aligned, 10 x 10 tiles of 224 x 128 fill them. Misaligned, edges are
  // powers of two.
  GemmParameters<double> p = plain_gemm();
  p.wave_weight = 1;
  p.tile_edge = 100;  // of two tilings that fill them the one with the larger tile
  for (const std::int64_t off : {0, 8, 7, 4, 1}) {
    const Tiling best = best_tiling({2240, 1280 - off, 8192}, p, {100});
    CHECK((best.tile.rows == 224) == (off % 8 == 0));
    if (off % 8 != 0)
      CHECK((best.tile.rows == 64 || best.tile.rows == 128 || best.tile.rows == 256));
  }
}

TEST_CASE("a product of few tiles is split along its depth") {
  // One tile of 64 x 64 with k = 16384: in 48 parts, the most.
  GemmParameters<double> p = plain_gemm();
  p.bandwidth_TBps = 1e3;  // so that arithmetic alone counts
  const double one_tile_us = 2.0 * 64 * 64 * 16384 / 10e12 * 1e6;  // on one multiprocessor
  CHECK(us({64, 64, 16384}, p) == Approx(one_tile_us / 48).epsilon(0.01));
  // Parts are at least 256 deep: 512 can only be halved.
  CHECK(us({64, 64, 512}, p) == Approx(one_tile_us / 32 / 2).epsilon(0.01));
  // In four parts each multiprocessor has 4096 + 3000, in eight 2048 + 3000, in 48 341 + 3000.
  p.split_k = 3000;
  CHECK(us({64, 64, 16384}, p) ==
        Approx(one_tile_us * (16384 / 48.0 + 3000) / 16384).epsilon(0.01));
  p.split_k = 16000;  // not worth it any more
  CHECK(us({64, 64, 16384}, p) == Approx(one_tile_us).epsilon(0.01));
}

TEST_CASE(
    "fp32, and tf32 that is not along the depth, go to the kernels without asynchronous loads") {
  const auto narrow = [](Dtype dtype, Layout layout) {
    return is_narrow({1024, 1024, 1024, 1, dtype, layout});
  };
  for (const Layout layout : {Layout::TN, Layout::NN, Layout::NT}) {
    CHECK(narrow(Dtype::fp32, layout));
    CHECK(narrow(Dtype::tf32, layout) == (layout != Layout::TN));
    CHECK_FALSE(narrow(Dtype::bf16, layout));
  }
}

TEST_CASE("a tile too small to feed runs below the peak") {
  // 128 x 128 has a harmonic edge of 64: work and loads take equally long with tile_edge = 64, and
  // the smooth maximum of two equals is 2^(1/4).
  GemmParameters<double> p = plain_gemm();
  p.tile_edge = 64;
  p.narrow_tile_edge = 32;
  const TileCosts<double> wide = tile_costs(p, false);
  CHECK(tile_slowdown(Tile{128, 128}, wide) == Approx(std::pow(2.0, 0.25)));
  CHECK(tile_slowdown(Tile{256, 160}, wide) < 1.05);
  CHECK(tile_slowdown(Tile{64, 64}, wide) > 2);
  CHECK(tile_slowdown(Tile{64, 64}, tile_costs(p, true)) == Approx(std::pow(2.0, 0.25)));
}

TEST_CASE("the tiling taken is the one that leaves fewest multiprocessors idle") {
  // 100 multiprocessors. 10 x 10 tiles of 224 x 128 fill them; every other tiling has more area.
  GemmParameters<double> p = plain_gemm();
  p.wave_weight = 1;
  p.tile_edge = 100;
  const Tiling best = best_tiling({2240, 1280, 8192}, p, {100});
  CHECK(best.tile.rows == 224);
  CHECK(best.tile.cols == 128);
  CHECK(best.split == 1);
  CHECK(best.waves == Approx(1));
}

TEST_CASE("FLOP and bytes of operators are counted as the papers count them") {
  CHECK(flops(Gemm{2, 3, 4, 5}).value == 2 * 2 * 3 * 4 * 5);
  CHECK(bytes(Gemm{2, 3, 4, 5, Dtype::bf16}).value == 5 * 2 * (2 * 4 + 3 * 4 + 2 * 3));
  // Dao 2023: forward 4 s^2 d a head, causal half; backward 2.5 times forward.
  const Attention forward{2, 3, 3, 128, 64, false};
  CHECK(flops(forward).value == 4.0 * 2 * 3 * 128 * 128 * 64);
  Attention backward = forward;
  backward.backward = true;
  CHECK(flops(backward).value == 2.5 * flops(forward).value);
  backward.causal = true;
  CHECK(flops(backward).value == 1.25 * flops(forward).value);
  // AdamW in fp32 reads weight, gradient, two moments and writes three of them: 28 bytes.
  CHECK(bytes(Pass{PassKind::adamw, 10, 10, Dtype::fp32}).value == 2800);
  CHECK(bytes(Pass{PassKind::cast_down, 10, 10, Dtype::bf16}).value == 600);
}

TEST_CASE("a pass costs its start and the larger of its bytes and its arithmetic") {
  PassParameters<double> p{2, 0, 0, 4};
  // 1e9 elements of bf16 copied: 4 GB at 4 TB/s = 1 ms.
  const Pass copy{PassKind::copy, 1000, 1000000, Dtype::bf16};
  CHECK(pass_formula(copy, p).value == Approx(1002e-6));
  p.element_ps = 4;  // 4 ms: (4^4 + 1)^(1/4) = 4.0039
  CHECK(pass_formula(copy, p).value == Approx(4.0059e-3).epsilon(1e-4));
  p = {0, 500, 0, 4};  // 1000 rows of 500 ns: 0.5 ms beside 1 ms is hidden: 1.0153
  const Pass norm{PassKind::layer_norm, 1000, 1000000, Dtype::bf16};
  CHECK(pass_formula(norm, p).value == Approx(1.0153e-3).epsilon(1e-4));
}

TEST_CASE("how an elementwise pass is cut into rows does not change its cost") {
  const PassParameters<double> p{1, 300, 2, 4};
  for (const PassInfo& row : passes) {
    if (by_row(row.kind)) continue;
    INFO(row.name);
    const Pass tall{row.kind, 1 << 20, 1 << 8, Dtype::bf16};
    const Pass wide{row.kind, 1 << 8, 1 << 20, Dtype::bf16};
    CHECK(pass_formula(tall, p).value == pass_formula(wide, p).value);
  }
}

TEST_CASE("the smooth maximum is the larger one, at most 19 % above it") {
  CHECK(smooth_max(3.0, 0.0) == Approx(3));
  CHECK(smooth_max(1.0, 1.0) == Approx(std::pow(2.0, 0.25)));
  CHECK(smooth_max(1.0, 10.0) == Approx(10).epsilon(1e-4));
}

TEST_CASE("a measured shape costs what was measured, its mirror image too") {
  GpuProfile gpu = toy_gpu();
  const Gemm measured{4096, 1024, 512};
  const double formula =
      gemm_formula(measured, gpu.gemm[static_cast<std::size_t>(Dtype::bf16)], {100}).value;
  CHECK(cost(measured, gpu).time.value == Approx(formula));
  CHECK_FALSE(cost(measured, gpu).measured);

  gpu.gemm_points[static_cast<std::size_t>(Dtype::bf16)] =
      MeasuredSurface({{surface_point(measured), std::log(1.5F)}});
  CHECK(cost(measured, gpu).time.value == Approx(1.5 * formula));
  CHECK(cost(measured, gpu).measured);
  // C^T = B A^T: the residual of the exchanged shape over the formula of this one.
  const Gemm mirrored{1024, 4096, 512};
  const double other =
      gemm_formula(mirrored, gpu.gemm[static_cast<std::size_t>(Dtype::bf16)], {100}).value;
  CHECK(cost(mirrored, gpu).time.value == Approx(1.5 * other));
  // Nothing is known of another format, nor of a misaligned shape next to it.
  CHECK_FALSE(cost(Gemm{4096, 1024, 512, 1, Dtype::fp16}, gpu).measured);
  CHECK_FALSE(cost(Gemm{4096, 1023, 512}, gpu).measured);
}

TEST_CASE("shapes that must not be mixed lie apart in the surface") {
  const auto distance = [](const MeasuredSurface::Point& a, const MeasuredSurface::Point& b) {
    float sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum);
  };
  const auto at = [](const auto& work) { return surface_point(work); };
  CHECK(distance(at(Gemm{4096, 4096, 4096}), at(Gemm{4096, 4095, 4096})) > 10);
  // A size that fills tiles lies a little apart from one that leaves a row over.
  CHECK(distance(at(Gemm{4096, 4096, 4096}), at(Gemm{4097, 4096, 4096})) ==
        Approx(0.8).margin(0.01));
  CHECK(distance(at(Attention{1, 8, 8, 512, 64, true}), at(Attention{1, 8, 8, 512, 64, false})) >
        10);
  CHECK(distance(at(Pass{PassKind::add, 64, 64, Dtype::bf16}),
                 at(Pass{PassKind::add, 64, 64, Dtype::fp32})) > 10);
  // An elementwise pass knows its elements only; a norm knows its rows, too.
  CHECK(distance(at(Pass{PassKind::add, 30, 70}), at(Pass{PassKind::add, 7, 300})) == 0);
  CHECK(distance(at(Pass{PassKind::layer_norm, 30, 70}), at(Pass{PassKind::layer_norm, 7, 300})) >
        1);
}

TEST_CASE("sizes beyond 64 bits of product still have a place") {
  constexpr std::int64_t huge = std::int64_t{1} << 60;
  CHECK(surface_point(Pass{PassKind::add, huge, huge})[0] == Approx(120));
  CHECK(surface_point(Attention{huge, huge, 1, 1, 1})[0] == Approx(120));
}

TEST_CASE("a copy costs its start and its bytes") {
  CHECK(copy_formula(50e9, CopyParameters<double>{10, 50}).value == Approx(1.00001));
}
