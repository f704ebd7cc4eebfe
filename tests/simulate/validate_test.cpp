#include "simulate/validate.h"

#include "tests/catch2.h"

using namespace stepsight;

namespace {

ValidationPoint point(const char* model, double measured, double predicted) {
  ValidationPoint out;
  out.id = "H";
  out.groups = {{"model", model}};
  out.measured_s = measured;
  out.predicted_s = predicted;
  return out;
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

TEST_CASE(
    "a row of several GPUs is compared with one GPU's row of the same work, best of its own "
    "table") {
  Validation v;
  const auto add = [&](std::int64_t gpus,
                       const char* work,
                       const char* table,
                       double measured,
                       double predicted) {
    ValidationPoint p = point("a", measured, predicted);
    p.gpus = gpus;
    p.work = work;
    p.groups["table"] = table;
    v.points.push_back(p);
  };
  add(1, "w", "eager", 0.9, 0.9);
  add(1, "w", "ddp", 1.0, 1.0);
  add(2, "w", "ddp", 1.25, 1.24);
  add(2, "w", "fsdp", 1.0, 1.0);
  add(2, "other", "ddp", 1.0, 1.0);
  const auto pairs = scaling_pairs(v.points);
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].measured() == Approx(0.8));
  CHECK(pairs[0].predicted() == Approx(1 / 1.24));
  CHECK(pairs[1].measured() == Approx(0.9));
  const Agreement a = v.efficiency();
  CHECK(a.n == 2);
  CHECK(a.within == 2);
  CHECK(a.worst == Approx(1 / 1.24 - 0.8));
}

TEST_CASE("exposed communication agrees within a tenth or a millisecond") {
  Validation v;
  for (const double predicted : {0.0008, 0.0021, 0.052, 0.056}) {
    ValidationPoint p = point("a", 1, 1);
    p.measured_exposed_s = predicted < 0.01 ? 0.001 : 0.05;
    p.predicted_exposed_s = predicted;
    v.points.push_back(p);
  }
  v.points.push_back(point("a", 1, 1));
  const Agreement a = v.exposed();
  CHECK(a.n == 4);
  CHECK(a.within == 2);
  CHECK(a.worst == Approx(0.006));
  CHECK(Validation{}.exposed().n == 0);
}
