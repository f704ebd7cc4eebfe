// Steps whose products are in fp8, on cards that have it and on one that has not.
#include "model/errors.h"
#include "model/io/profile_file.h"
#include "simulate/memory.h"
#include "simulate/predict.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_scenario.h"

using namespace stepsight;

TEST_CASE("fp8 makes a step of large products shorter, and not as much as its products") {
  Scenario s = toy_scenario(1);
  s.model.hidden = s.model.heads * s.model.head_dim;
  const GpuProfile gpu = read_profile("h200-sxm");
  s.cluster.gpu = "h200-sxm";
  s.training.batch = 8;
  const Prediction wide = predict(s, gpu);
  s.training.fp8 = true;
  const Prediction narrow = predict(s, gpu);
  CHECK(narrow.step < wide.step);
  CHECK(narrow.step > 0.5 * wide.step);
  CHECK(narrow.memory.peak < wide.memory.peak);
}

TEST_CASE("a card without fp8 says so") {
  Scenario s = toy_scenario(1);
  s.training.fp8 = true;
  s.cluster.gpu = "a100-sxm-80";
  CHECK_THROWS_AS(predict(s, read_profile("a100-sxm-80")), UserError);
}
