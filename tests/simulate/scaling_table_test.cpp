#include "simulate/scaling_table.h"

#include <vector>

#include "tests/catch2.h"

using namespace stepsight;

TEST_CASE("a job of known parts is taken apart again") {
  std::vector<ScalingTime> times;
  for (const std::int64_t n : {1, 2, 4, 8})
    times.push_back({n, 10 + 100.0 / static_cast<double>(n)});
  const ScalingLaw law = scaling_law(times);
  CHECK(law.constant == Approx(10));
  CHECK(law.divided == Approx(100));
  CHECK(law.worst_error < 1e-9);
  CHECK(law.constant_share == Approx(10 / 22.5));
  CHECK(law.most_speedup == Approx(11));
  CHECK_FALSE(law.grows);
}

TEST_CASE("a job that scales wholly has no constant part, one that does not at all has no other") {
  const ScalingLaw ideal = scaling_law(std::vector<ScalingTime>{{1, 8}, {2, 4}, {4, 1.9}});
  CHECK(ideal.constant == 0);
  CHECK(ideal.most_speedup == 0);
  const ScalingLaw flat = scaling_law(std::vector<ScalingTime>{{1, 5}, {2, 5.2}, {4, 5.5}});
  CHECK(flat.divided == 0);
  CHECK(flat.constant == Approx(5.2).epsilon(0.02));
  CHECK(flat.grows);
}

// ultralytics/yolov5 12424: 2:30, 2:21, 2:25 and 2:46 hours on 4, 8, 16 and 32 GPUs.
TEST_CASE("a training that takes as long on 8 GPUs as on 4 has a part that nobody shares") {
  const ScalingLaw law =
      scaling_law(std::vector<ScalingTime>{{4, 9000}, {8, 8460}, {16, 8700}, {32, 9960}});
  CHECK(law.constant_share > 0.9);
  CHECK(law.grows);
  CHECK_THAT(describe(law, 32), match::ContainsSubstring("grows with their number"));
}
