// What the engine runs: tasks on lanes. A lane is a resource that does one thing at a time in the
// order it was told to (a host thread, a CUDA stream, one direction of a link); a task is an amount
// of work on one lane that waits for other tasks. Names are resolved before a Program is built: it
// is flat arrays of numbers, immutable once built, and may be shared between threads.
//
// Invariants, kept by ProgramBuilder (std::logic_error when a caller breaks one):
//   1. a task depends only on tasks with smaller ids, so no cycle can exist and array order is a
//      topological order;
//   2. the tasks of a lane run in array order;
//   3. all work is >= 0, and all work together is at most longest_step.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <vector>

#include "model/max_min.h"
#include "model/units.h"

namespace stepsight {

// Simulated time and work at full rate; a float would lose picoseconds.
using Picoseconds = std::int64_t;

// The longest time that is simulated, 53 days: half of what the type holds, so that the sum of a
// time and a wait never wraps.
inline constexpr Picoseconds longest_step = Picoseconds{1} << 62;

// Rounds to the nearest picosecond. UserError when the duration exceeds longest_step (an absurd
// scenario), std::logic_error when it is negative or not a number (our bug).
Picoseconds to_picoseconds(Seconds duration);
constexpr Seconds to_seconds(Picoseconds time) {
  return Seconds{static_cast<double>(time) / 1e12};
}

// Strong indices: a task, a lane and a link (model/max_min.h) cannot be mixed up.
enum class TaskId : std::uint32_t {};
enum class LaneId : std::uint32_t {};
constexpr std::uint32_t index(TaskId id) {
  return static_cast<std::uint32_t>(id);
}
constexpr std::uint32_t index(LaneId id) {
  return static_cast<std::uint32_t>(id);
}
inline constexpr std::uint32_t no_index = std::numeric_limits<std::uint32_t>::max();

enum class LaneClass : std::uint8_t { host, compute, communication, copy };
inline constexpr std::size_t lane_class_count = 4;

struct Lane {
  LaneClass lane_class = LaneClass::compute;
  std::uint32_t group = 0;  // the GPU (rank) it belongs to; tasks of one group slow each other
};

// Interference classes index the slow-down matrix of a Machine. Class 0 neither slows nor is
// slowed.
inline constexpr std::size_t interference_classes = 9;

// What a caller says about a new task.
struct TaskSpec {
  LaneId lane{};
  Picoseconds work = 0;           // at full rate; 0 for markers and joins
  std::uint32_t label = 0;        // opaque here; reports give it a name
  std::uint8_t interference = 0;  // class in the slow-down matrix
};

// A task that moves data over shared links: at full rate it takes `demand` from every link of
// `path`. Flows that share a link share its capacity (model/max_min.h).
struct FlowSpec {
  std::span<const LinkId> path;
  BytesPerSecond demand;
};

// A task as it lies in the program.
struct Task {
  Picoseconds work = 0;
  std::uint32_t lane = 0;
  std::uint32_t label = 0;
  std::uint32_t first_dependency = 0;  // in Program::dependencies
  std::uint32_t dependency_count = 0;
  std::uint32_t next_in_lane = no_index;
  std::uint32_t flow = no_index;  // in Program::flow_demand, no_index for an ordinary task
  std::uint8_t interference = 0;
};

class Program {
 public:
  std::span<const Task> tasks() const { return tasks_; }
  std::span<const Lane> lanes() const { return lanes_; }
  std::uint32_t group_count() const { return groups_; }
  std::uint32_t flow_count() const { return static_cast<std::uint32_t>(flow_demand_.size()); }

  const Task& task(TaskId id) const { return tasks_[index(id)]; }
  std::span<const TaskId> dependencies(const Task& task) const {
    return {dependencies_.data() + task.first_dependency, task.dependency_count};
  }
  // First task of a lane, no_index when it has none; then follow Task::next_in_lane.
  std::uint32_t first_in_lane(LaneId lane) const { return first_in_lane_[index(lane)]; }
  // Bit c is set when a task has interference class c.
  std::uint32_t interference_used() const { return interference_used_; }
  // Sum of all work: the makespan on a single lane.
  Picoseconds total_work() const { return total_work_; }

  // Flow f crosses the links flow_links[flow_begin[f] .. flow_begin[f + 1]).
  std::span<const std::uint32_t> flow_begin() const { return flow_begin_; }
  std::span<const LinkId> flow_links() const { return flow_links_; }
  std::span<const double> flow_demand() const { return flow_demand_; }  // bytes per second

 private:
  friend class ProgramBuilder;
  std::vector<Task> tasks_;
  std::vector<TaskId> dependencies_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> first_in_lane_;
  std::vector<std::uint32_t> flow_begin_{0};
  std::vector<LinkId> flow_links_;
  std::vector<double> flow_demand_;
  Picoseconds total_work_ = 0;
  std::uint32_t groups_ = 0;
  std::uint32_t interference_used_ = 0;
};

// Appends lanes and tasks. Appending is amortised O(1 + dependencies) and does not allocate within
// what was reserved. UserError when all work together exceeds longest_step.
class ProgramBuilder {
 public:
  void reserve(std::size_t tasks, std::size_t dependencies);

  // Groups are numbered densely: a lane joins a group that exists or the next new one.
  LaneId add_lane(Lane lane);

  TaskId add(const TaskSpec& spec, std::span<const TaskId> dependencies);
  TaskId add(const TaskSpec& spec, std::initializer_list<TaskId> dependencies = {}) {
    return add(spec, std::span<const TaskId>(dependencies.begin(), dependencies.size()));
  }
  // Demand must be positive and finite; the path may be empty (nothing shared).
  TaskId add_flow(const TaskSpec& spec, const FlowSpec& flow, std::span<const TaskId> dependencies);
  TaskId add_flow(const TaskSpec& spec,
                  const FlowSpec& flow,
                  std::initializer_list<TaskId> dependencies = {}) {
    return add_flow(spec, flow, std::span<const TaskId>(dependencies.begin(), dependencies.size()));
  }

  std::size_t task_count() const { return program_.tasks_.size(); }
  // The last task added to a lane; its end is the end of everything queued there. Precondition:
  // the lane has a task (std::logic_error).
  TaskId last_in_lane(LaneId lane) const;

  // Hands the program over; the builder starts anew.
  Program build();

 private:
  Program program_;
  std::vector<std::uint32_t> last_in_lane_;
};

}  // namespace stepsight
