#include "model/fit/full_clock.h"

#include "tests/catch2.h"

using namespace stepsight;

namespace {

void add(Measurements& m, Dtype type, SeenClock clock, int count) {
  for (int i = 0; i < count; ++i) m.gemms.push_back({{64, 64, 64, 1, type}, 5, 0, clock});
}

}  // namespace

TEST_CASE("products at a lowered or unseen clock give way where most ran at the highest") {
  Measurements m;
  add(m, Dtype::bf16, SeenClock::full, 10);
  add(m, Dtype::bf16, SeenClock::unknown, 5);
  add(m, Dtype::bf16, SeenClock::lowered, 2);
  keep_full_clock(m);
  CHECK(m.gemms.size() == 10);
  for (const GemmPoint& p : m.gemms) CHECK(p.clock == SeenClock::full);
  REQUIRE(m.skipped.size() == 1);
  CHECK_THAT(m.skipped[0], match::ContainsSubstring("7 of 17 bf16 products"));
}

TEST_CASE("a card that rarely reaches its highest clock keeps every product") {
  Measurements m;
  add(m, Dtype::fp16, SeenClock::full, 4);
  add(m, Dtype::fp16, SeenClock::lowered, 6);
  add(m, Dtype::fp8, SeenClock::unknown, 3);  // an imported table: nobody knows
  add(m, Dtype::fp32, SeenClock::full, 3);
  keep_full_clock(m);
  CHECK(m.gemms.size() == 16);
  CHECK(m.skipped.empty());
}
