#include "model/power.h"

#include "tests/catch2.h"
#include "tests/model/toy_gpu.h"

using namespace stepsight;

namespace {

// 100 W idle, 1 pJ a FLOP, 50 pJ a byte; energy of a FLOP goes with the clock squared.
GpuProfile toy_with_limit(double watts) {
  GpuProfile gpu = toy_gpu();
  gpu.power = {100, 1, 50, 2};
  gpu.power_W = watts;
  return gpu;
}

// One second of products at 600 TFLOP/s and 1 TB/s at the highest clock: 100 + 600 + 50 W.
constexpr StepEnergy products{600e12, 1e12, 1, 0, 0};

}  // namespace

TEST_CASE("power is the idle card's, the FLOP's and the bytes'") {
  const PowerParameters<double> p{100, 1, 50, 2};
  CHECK(power_formula(600e12, 1e12, 1.0, p) == Approx(750));
  // At half the clock a quarter of the idle power and of each FLOP's energy.
  CHECK(power_formula(300e12, 0.5e12, 0.5, p) == Approx(25 + 75 + 25));
}

TEST_CASE("the clock stays up within the limit and where no limit is known") {
  CHECK(clock_under_limit(products, toy_with_limit(751)) == 1);
  CHECK(clock_under_limit(products, toy_with_limit(0)) == 1);
}

TEST_CASE("over the limit the clock falls until the mean power is the limit's") {
  for (const double watts : {700.0, 500.0, 300.0}) {
    const double clock = clock_under_limit(products, toy_with_limit(watts));
    CHECK(clock < 1);
    // 1 second at the highest clock is 1 / clock seconds now.
    CHECK(power_formula(600e12 * clock, 1e12 * clock, clock, toy_with_limit(0).power) ==
          Approx(watts).epsilon(1e-6));
  }
}

TEST_CASE("a step that waits for its host or link draws less, and keeps its clock") {
  StepEnergy waiting = products;
  waiting.least_s = 2;  // half the time idle: 100 + 300 + 25 W
  CHECK(clock_under_limit(waiting, toy_with_limit(430)) == 1);
  CHECK(clock_under_limit(waiting, toy_with_limit(420)) < 1);
}

TEST_CASE("no clock falls below the lowest") {
  CHECK(clock_under_limit(products, toy_with_limit(1)) == Approx(0.3));
}

TEST_CASE("a FLOP's energy goes with the vendor's rates") {
  GpuProfile gpu = toy_gpu();
  gpu.vendor_TFLOPS[static_cast<std::size_t>(Dtype::bf16)] = 1000;
  gpu.vendor_TFLOPS[static_cast<std::size_t>(Dtype::fp8)] = 2000;
  gpu.vendor_TFLOPS[static_cast<std::size_t>(Dtype::tf32)] = 0;
  CHECK(energy_of_flop(gpu, Dtype::bf16) == 1);
  CHECK(energy_of_flop(gpu, Dtype::fp8) == 0.5);
  CHECK(energy_of_flop(gpu, Dtype::tf32) == 1);  // not offered
}
