#include "model/units.h"

#include <type_traits>

#include "tests/catch2.h"

using namespace stepsight;

TEST_CASE("a ratio of equal dimensions is a plain number", "[units]") {
  static_assert(std::is_same_v<decltype(1.0_s / 2.0_s), double>);
  static_assert(std::is_same_v<decltype(8_B / 2.0_s * 1.0_s / 4_B), double>);
  CHECK(1.0_s / 4.0_s == 0.25);
  CHECK(8_B / 2.0_s * 1.0_s / 4_B == 1.0);
}

TEST_CASE("bytes over a bandwidth are a time", "[units]") {
  static_assert(std::is_same_v<decltype(1.0_GB / 1.0_GBps), Seconds>);
  CHECK((14.0_GB / 20.0_GBps).value == Approx(0.7));
}

TEST_CASE("work over a rate is a time", "[units]") {
  const Flops work{2.0 * 4096 * 4096 * 4096};
  CHECK((work / 700.0_TFLOPS).value == Approx(196.3e-6).epsilon(1e-3));
}

TEST_CASE("literals scale to SI, GB by thousands and MiB by 1024", "[units]") {
  CHECK((1.0_ms).value == Approx(1e-3));
  CHECK((1.0_us).value == Approx(1e-6));
  CHECK((1.0_GB).value == 1e9);
  CHECK((25_MiB).value == 26214400.0);
  CHECK((900.0_GBps).value == 900e9);
  CHECK((989.0_TFLOPS).value == 989e12);
}

TEST_CASE("quantities of one dimension add, subtract, scale and compare", "[units]") {
  Seconds t = 3.0_s;
  t += 2.0_s;
  t -= 1.0_s;
  CHECK(t == 4.0_s);
  CHECK(t + 1.0_s == 5.0_s);
  CHECK(t - 1.0_s == 3.0_s);
  CHECK(2.0 * t == 8.0_s);
  CHECK(t * 2.0 == 8.0_s);
  CHECK(t / 2.0 == 2.0_s);
  CHECK(3.0_s < t);
  CHECK_FALSE(t < t);
}

TEST_CASE("a quantity that was given no value is zero", "[units]") {
  CHECK(Seconds{}.value == 0.0);
  CHECK(Bytes{} == 0_B);
}

namespace {

// The least that an automatic-differentiation type must offer: value and derivative.
struct Dual {
  double value = 0;
  double slope = 0;
  friend Dual operator/(Dual a, Dual b) {
    return {a.value / b.value, (a.slope * b.value - a.value * b.slope) / (b.value * b.value)};
  }
};

}  // namespace

TEST_CASE("a formula over units carries derivatives of another scalar", "[units]") {
  const Quantity<0, 1, 0, Dual> size{Dual{10, 0}};
  const BytesPerSecondOf<Dual> rate{Dual{5, 1}};
  const SecondsOf<Dual> time = size / rate;
  CHECK(time.value.value == 2.0);
  CHECK(time.value.slope == Approx(-0.4));  // d(10/r)/dr at r = 5
}
