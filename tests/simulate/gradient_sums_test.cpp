// How the gradients of micro-steps become one: in the products, by autograd's adds, or by passes
// into fp32.
#include "model/transformer.h"
#include "simulate/predict.h"
#include "simulate/step_costs.h"
#include "simulate/step_links.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_scenario.h"

using namespace stepsight;

namespace {

Scenario accumulating(bool fused, Precision precision) {
  Scenario s = toy_scenario(1);
  s.training.accumulation = 4;
  s.training.fused_kernels = true;
  s.training.fused_accumulation = fused;
  s.training.precision = precision;
  return s;
}

constexpr Precision master{Dtype::bf16, false, true};
constexpr Precision summed{Dtype::bf16, false, true, true};

// A host that costs nothing: passes show as they are.
double step(const Scenario& s) {
  return predict_step(s, toy_gpu_with_host(0)).value;
}

}  // namespace

TEST_CASE("gradients that products add up cost less than adds, and these less than sums in fp32") {
  const double in_products = step(accumulating(true, master));
  const double adds = step(accumulating(false, master));
  const double sums = step(accumulating(false, summed));
  CHECK(in_products < adds);
  CHECK(adds < sums);
  // Sums in fp32 are passes of their own even where products could add.
  CHECK(step(accumulating(true, summed)) == Approx(sums));
}

TEST_CASE("a sum in fp32 moves 26 bytes for each gradient, an add in 16 bits 6") {
  const GradientReady gradient{0, 3'000'000, "weight"};
  CHECK(bytes(accumulate_pass(gradient, summed)).value == 78e6);
  CHECK(bytes(accumulate_pass(gradient, master)).value == 18e6);
}

TEST_CASE(
    "sums in fp32 are all-reduced whole, other gradients scattered to those who update them") {
  CHECK(gradient_collective(summed) == CollectiveKind::all_reduce);
  CHECK(gradient_collective(master) == CollectiveKind::reduce_scatter);
}

TEST_CASE("products that add to a sum in fp32 take longer than to one in 16 bits") {
  Scenario narrow = accumulating(true, master);
  Scenario wide = narrow;
  wide.training.gradient_dtype = Dtype::fp32;
  CHECK(step(narrow) < step(wide));
  // Autograd's adds are passes over gradients in the parameters' format, whatever the link carries.
  narrow.training.fused_accumulation = wide.training.fused_accumulation = false;
  CHECK(step(narrow) == Approx(step(wide)));
}
