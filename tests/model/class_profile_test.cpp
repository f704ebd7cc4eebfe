#include "model/class_profile.h"

#include "model/io/builtin.h"
#include "model/io/profile_file.h"
#include "tests/catch2.h"
#include "tests/model/toy_gpu.h"

using namespace stepsight;

TEST_CASE("a card with the measured card's figures has its parameters, but none of its points") {
  GpuProfile measured = toy_gpu();
  measured.pass_points[0] = MeasuredSurface({{{10}, 0.5F}});
  GpuProfile same = class_profile(measured, measured);
  const auto before = named_parameters(measured);
  const auto after = named_parameters(same);
  for (std::size_t i = 0; i < before.size(); ++i) {
    INFO(before[i].name);
    CHECK(*after[i].value == Approx(*before[i].value));
  }
  for (const ParameterRecord& r : same.records) {
    CHECK(r.points == 0);
    CHECK(r.sd == Approx(class_value_spread * r.value));
    CHECK_THAT(r.source, match::ContainsSubstring("class value"));
  }
  CHECK(same.records.size() == after.size());
}

TEST_CASE("rates go with the vendor's figures") {
  const GpuProfile measured = toy_gpu();
  GpuProfile figures = toy_gpu();
  for (double& rate : figures.vendor_TFLOPS) rate *= 0.5;
  figures.hbm_TBps *= 0.25;
  const GpuProfile half = class_profile(figures, measured);
  const auto bf16 = static_cast<std::size_t>(Dtype::bf16);
  CHECK(half.gemm[bf16].peak_TFLOPS == Approx(measured.gemm[bf16].peak_TFLOPS / 2));
  CHECK(half.gemm[bf16].bandwidth_TBps == Approx(measured.gemm[bf16].bandwidth_TBps / 4));
  CHECK(half.attention[0].peak_TFLOPS == Approx(measured.attention[0].peak_TFLOPS / 2));
  CHECK(half.pass[0].bandwidth_TBps == Approx(measured.pass[0].bandwidth_TBps / 4));
  // What a start costs stays.
  CHECK(half.gemm[bf16].overhead_us == measured.gemm[bf16].overhead_us);
}

TEST_CASE("every card that is built in has a class profile within the bounds of every parameter") {
  const GpuProfile measured = read_profile("h200-sxm");
  const auto cards = builtin_names("gpus");
  REQUIRE_FALSE(cards.empty());
  for (const std::string_view name : cards) {
    GpuProfile card = class_profile(read_gpu(std::string(name)), measured);
    for (const NamedParameter& p : named_parameters(card)) {
      INFO(name << " " << p.name);
      CHECK(*p.value >= p.info.lower);
      CHECK(*p.value <= p.info.upper);
    }
  }
}

TEST_CASE("the same chip under a lower limit draws as much for the same work") {
  GpuProfile measured = toy_gpu();
  measured.power_W = 700;
  GpuProfile figures = measured;
  figures.power_W = 500;
  const GpuProfile limited = class_profile(figures, measured);
  CHECK(limited.power.flop_pJ == Approx(measured.power.flop_pJ));
  CHECK(limited.power.static_W == Approx(measured.power.static_W));
  // A smaller chip is built for its own limit.
  figures.multiprocessors = 80;
  CHECK(class_profile(figures, measured).power.static_W ==
        Approx(measured.power.static_W * 500 / 700));
}

TEST_CASE("instructions go with multiprocessors and clock, not with lanes") {
  GpuProfile measured = toy_gpu();
  const auto fp32 = static_cast<std::size_t>(Dtype::fp32);
  const auto gelu = static_cast<std::size_t>(PassKind::gelu);
  // 100 multiprocessors of 128 lanes at 1.5 GHz: 38.4 TFLOPS.
  measured.vendor_TFLOPS[fp32] = 38.4;
  GpuProfile figures = measured;
  // 64 lanes at the same clock: half the fp32 rate, but as many instructions a second.
  figures.vendor_TFLOPS[fp32] = 19.2;
  CHECK(class_profile(figures, measured).pass[gelu].element_ps ==
        Approx(measured.pass[gelu].element_ps));
  // 128 lanes at 1.2 GHz: four fifths of the instructions.
  figures.vendor_TFLOPS[fp32] = 30.72;
  CHECK(class_profile(figures, measured).pass[gelu].element_ps ==
        Approx(measured.pass[gelu].element_ps / 0.8));
}
