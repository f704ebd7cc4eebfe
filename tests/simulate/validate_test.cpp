#include "simulate/validate.h"

#include "tests/catch2.h"

using namespace stepsight;

namespace {

ValidationPoint point(const char* model, double measured, double predicted) {
  return {"H", {{"model", model}}, measured, predicted, false};
}

}  // namespace

TEST_CASE("the error is predicted over measured, less one") {
  CHECK(point("a", 2, 2.2).error() == Approx(0.1));
  CHECK(point("a", 2, 1).error() == Approx(-0.5));
}

TEST_CASE("a summary holds mean, median, 90th percentile, worst and bias of the errors") {
  Validation v;
  v.points = {point("a", 1, 1.1), point("a", 1, 0.8), point("b", 1, 1.4)};
  const ErrorSummary all = v.all();
  CHECK(all.n == 3);
  CHECK(all.mape == Approx((0.1 + 0.2 + 0.4) / 3));
  CHECK(all.median_ape == Approx(0.2));
  CHECK(all.p90_ape == Approx(0.4));
  CHECK(all.worst_ape == Approx(0.4));
  CHECK(all.bias == Approx((0.1 - 0.2 + 0.4) / 3));
  const auto by = v.by("model");
  REQUIRE(by.size() == 2);
  CHECK(by.at("a").mape == Approx(0.15));
  CHECK(by.at("b").n == 1);
}

TEST_CASE("no points make an empty summary, not a division by zero") {
  const ErrorSummary none = Validation{}.all();
  CHECK(none.n == 0);
  CHECK(none.mape == 0);
}
