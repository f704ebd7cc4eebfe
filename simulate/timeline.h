// What a run of the engine says: when every task started and ended. Everything else a report needs
// is derived from it by the pure functions below; none of them looks at a clock or a name.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "simulate/program.h"

namespace stepsight {

struct Timeline {
  std::vector<Picoseconds> start;  // one entry a task, in order of TaskId
  std::vector<Picoseconds> end;
  Picoseconds makespan = 0;  // the latest end; 0 for an empty program

  friend bool operator==(const Timeline&, const Timeline&) = default;
};

// Time that each lane was running a task, one entry a lane. Never more than the makespan.
std::vector<Picoseconds> lane_busy(const Program& program, const Timeline& timeline);

// The same summed over the lanes of each class, one entry a group: two busy streams count twice.
using ClassTimes = std::array<Picoseconds, lane_class_count>;
std::vector<ClassTimes> class_busy(const Program& program, const Timeline& timeline);

// A half-open stretch of time.
struct Interval {
  Picoseconds begin = 0;
  Picoseconds end = 0;

  friend bool operator==(Interval, Interval) = default;
};
// Sorted, not empty, not touching each other.
using Intervals = std::vector<Interval>;

// When at least one lane of the class runs in the group: two busy streams count once.
Intervals running(const Program& program,
                  const Timeline& timeline,
                  std::uint32_t group,
                  LaneClass lane_class);
Intervals unite(const Intervals& a, const Intervals& b);
Intervals intersect(const Intervals& a, const Intervals& b);
Picoseconds total(const Intervals& intervals);

// How the communication of one group lies against its compute. hidden + exposed = the time when
// communication runs at all.
struct Overlap {
  Picoseconds compute = 0;  // time when a compute lane runs
  Picoseconds hidden = 0;   // time when both run
  Picoseconds exposed = 0;  // time when communication runs and compute does not
};
// Copies count as communication: a link through host memory is made of them.
Overlap communication_overlap(const Program& program,
                              const Timeline& timeline,
                              std::uint32_t group);

// The chain of tasks that made the step as long as it is, from the last task to the first. Each
// was released by the next one in the list: it started the instant that one ended. Where several
// released it at the same instant, its predecessor in the lane is named, else the first such
// dependency; among tasks that end last, the one with the smallest id. The durations (end - start)
// along it add up to the makespan.
std::vector<TaskId> critical_path(const Program& program, const Timeline& timeline);

}  // namespace stepsight
