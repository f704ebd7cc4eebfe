#include "calibrate/measure/overlap_plan.h"

#include <set>
#include <stdexcept>
#include <tuple>

#include "tests/catch2.h"

namespace stepsight::calibrate {

TEST_CASE("the library's own channels come first, and all three collectives of training in them") {
  for (const bool full : {false, true}) {
    const auto groups = collective_settings(full);
    REQUIRE_FALSE(groups.empty());
    CHECK(groups.front().channels == 0);
    std::set<CollectiveKind> kinds;
    for (const CollectiveSetting& s : groups.front().settings) kinds.insert(s.kind);
    CHECK(kinds == std::set{CollectiveKind::all_reduce,
                            CollectiveKind::all_gather,
                            CollectiveKind::reduce_scatter});
  }
  CHECK(collective_settings(false).size() == 1);
  CHECK(collective_settings(true).size() == 5);
}

TEST_CASE("no setting is planned twice, and each belongs to its group's channels") {
  std::set<std::tuple<CollectiveKind, std::int64_t, int>> seen;
  for (const ChannelGroup& group : collective_settings(true)) {
    for (const CollectiveSetting& s : group.settings) {
      CHECK(s.channels == group.channels);
      CHECK(s.bytes > 0);
      CHECK(seen.insert({s.kind, s.bytes, s.channels}).second);
    }
  }
  CHECK(seen.size() == 28);
}

TEST_CASE("a window lasts four milliseconds, or two instances of what runs beside") {
  CHECK(work_instances(1400, 100) == 3);   // 4 ms
  CHECK(work_instances(50, 1400) == 80);   // still 4 ms
  CHECK(work_instances(50, 7600) == 304);  // twice 7.6 ms
  CHECK(work_instances(9000, 100) == 1);   // at least one
  CHECK(work_instances(1, 100) == most_queued);
  CHECK_THROWS_AS(work_instances(0, 1), std::logic_error);
}

TEST_CASE("what runs beside outlasts the work at half its speed") {
  for (const double work_us : {50.0, 1400.0}) {
    for (const double beside_us : {90.0, 1200.0, 7600.0}) {
      const std::int64_t work = work_instances(work_us, beside_us);
      const std::int64_t beside = beside_instances(work, work_us, beside_us, 0);
      CHECK(static_cast<double>(beside) * beside_us >= 2 * static_cast<double>(work) * work_us);
      CHECK(beside_instances(work, work_us, beside_us, 1) >= 2 * beside - 1);
    }
  }
  CHECK(beside_instances(400, 1000, 10, 5) == most_queued);
}

}  // namespace stepsight::calibrate
