#include "simulate/timeline.h"

#include "simulate/engine.h"
#include "tests/catch2.h"

namespace stepsight {
namespace {

// Two kernels on the compute stream, a collective after the first and a copy after that:
//   compute  [0,4)   [4,10)
//   network      [4,7)
//   copies           [7,12)
struct Step {
  Program program;
  Timeline timeline;
};
Step small_step() {
  ProgramBuilder builder;
  const LaneId compute = builder.add_lane({LaneClass::compute, 0});
  const LaneId network = builder.add_lane({LaneClass::communication, 0});
  const LaneId copies = builder.add_lane({LaneClass::copy, 0});
  const LaneId other = builder.add_lane({LaneClass::compute, 1});
  const TaskId first = builder.add({compute, 4});
  builder.add({compute, 6});
  const TaskId reduced = builder.add({network, 3}, {first});
  builder.add({copies, 5}, {reduced});
  builder.add({other, 11});
  Step step{builder.build(), {}};
  step.timeline = run(step.program);
  return step;
}

}  // namespace

TEST_CASE("Busy time is counted by lane, and by class within a group") {
  const Step step = small_step();
  CHECK(lane_busy(step.program, step.timeline) == std::vector<Picoseconds>{10, 3, 5, 11});
  const ClassTimes busy = class_busy(step.program, step.timeline).at(0);
  CHECK(busy[static_cast<std::size_t>(LaneClass::compute)] == 10);
  CHECK(busy[static_cast<std::size_t>(LaneClass::communication)] == 3);
  CHECK(busy[static_cast<std::size_t>(LaneClass::copy)] == 5);
  CHECK(busy[static_cast<std::size_t>(LaneClass::host)] == 0);
}

TEST_CASE("Exposed communication is the time it runs and compute of the same GPU does not") {
  // Communication and copies run in [4,12), compute in [0,10): 6 hidden, 2 exposed, whatever the
  // other GPU does.
  const Step step = small_step();
  const Overlap overlap = communication_overlap(step.program, step.timeline, 0);
  CHECK(overlap.compute == 10);
  CHECK(overlap.hidden == 6);
  CHECK(overlap.exposed == 2);
}

TEST_CASE("Two streams that run at once count once in the time a class runs") {
  ProgramBuilder builder;
  for (const Picoseconds work : {4, 7}) {
    builder.add({builder.add_lane({LaneClass::compute, 0}), work});
  }
  const Program program = builder.build();
  const Timeline timeline = run(program);
  CHECK(running(program, timeline, 0, LaneClass::compute) == Intervals{{0, 7}});
  CHECK(class_busy(program, timeline).at(0)[static_cast<std::size_t>(LaneClass::compute)] == 11);
}

TEST_CASE("Unions join what touches and intersections keep what both hold") {
  const Intervals a{{0, 2}, {5, 9}, {20, 30}};
  const Intervals b{{2, 3}, {6, 7}, {8, 21}};
  CHECK(unite(a, b) == Intervals{{0, 3}, {5, 30}});
  CHECK(intersect(a, b) == Intervals{{6, 7}, {8, 9}, {20, 21}});
  CHECK(total(a) == 16);
  CHECK(unite(a, {}) == a);
  CHECK(intersect(a, {}).empty());
}

TEST_CASE("The critical path follows what released each task, from the end to the start") {
  const Step step = small_step();
  // The copy (3) waited for the collective (2), which waited for the first kernel (0).
  CHECK(critical_path(step.program, step.timeline) ==
        std::vector<TaskId>{TaskId{3}, TaskId{2}, TaskId{0}});
  CHECK(critical_path(Program{}, Timeline{}).empty());
}

}  // namespace stepsight
