#include "simulate/program.h"

#include <array>
#include <limits>
#include <stdexcept>

#include "model/errors.h"
#include "tests/catch2.h"

namespace stepsight {

TEST_CASE("Seconds become the nearest picosecond") {
  CHECK(to_picoseconds(Seconds{0}) == 0);
  CHECK(to_picoseconds(Seconds{1.4e-12}) == 1);
  CHECK(to_picoseconds(Seconds{1.6e-12}) == 2);
  CHECK(to_picoseconds(Seconds{0.0125}) == 12'500'000'000);
  CHECK(to_seconds(12'500'000'000).value == 0.0125);
}

TEST_CASE("A duration that cannot be counted is refused, never wrapped") {
  CHECK_THROWS_AS(to_picoseconds(Seconds{1e7}), UserError);
  CHECK_THROWS_AS(to_picoseconds(Seconds{std::numeric_limits<double>::infinity()}), UserError);
  CHECK_THROWS_AS(to_picoseconds(Seconds{-1e-12}), std::logic_error);
  CHECK_THROWS_AS(to_picoseconds(Seconds{std::numeric_limits<double>::quiet_NaN()}),
                  std::logic_error);
}

TEST_CASE("The builder keeps tasks, lanes, labels and dependencies as they were added") {
  ProgramBuilder builder;
  const LaneId host = builder.add_lane({LaneClass::host, 0});
  const LaneId stream = builder.add_lane({LaneClass::compute, 0});
  const TaskId a = builder.add({host, 5, 17});
  const TaskId b = builder.add({stream, 7, 18, 3}, {a});
  const TaskId c = builder.add({host, 9, 19}, {a, b});
  CHECK(builder.last_in_lane(host) == c);
  const Program program = builder.build();
  REQUIRE(program.tasks().size() == 3);
  CHECK(program.task(b).work == 7);
  CHECK(program.task(b).label == 18);
  CHECK(program.task(b).interference == 3);
  CHECK(program.dependencies(program.task(c)).size() == 2);
  CHECK(program.dependencies(program.task(c))[1] == b);
  CHECK(program.first_in_lane(host) == index(a));
  CHECK(program.task(a).next_in_lane == index(c));
  CHECK(program.task(c).next_in_lane == no_index);
  CHECK(program.total_work() == 21);
  CHECK(program.interference_used() == 0b1001);
  CHECK(builder.task_count() == 0);
}

TEST_CASE("The builder refuses what would break an invariant of the program") {
  ProgramBuilder builder;
  const LaneId lane = builder.add_lane({LaneClass::compute, 0});
  CHECK_THROWS_AS(builder.add_lane({LaneClass::compute, 2}), std::logic_error);
  CHECK_THROWS_AS(builder.last_in_lane(lane), std::logic_error);
  CHECK_THROWS_AS(builder.add({lane, 1}, {TaskId{0}}), std::logic_error);  // itself
  builder.add({lane, 1});
  CHECK_THROWS_AS(builder.add({lane, 1}, {TaskId{2}}), std::logic_error);
  CHECK_THROWS_AS(builder.add({LaneId{1}, 1}), std::logic_error);
  CHECK_THROWS_AS(builder.add({lane, -1}), std::logic_error);
  CHECK_THROWS_AS(builder.add({lane, 1, 0, interference_classes}), std::logic_error);
  const std::array<LinkId, 1> path{LinkId{0}};
  CHECK_THROWS_AS(builder.add_flow({lane, 1}, {path, BytesPerSecond{0}}), std::logic_error);
  CHECK(builder.task_count() == 1);
}

}  // namespace stepsight
