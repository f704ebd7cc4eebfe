#include "simulate/program.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "model/errors.h"

namespace stepsight {
namespace {

[[noreturn]] void throw_too_long() {
  throw UserError(
      "the simulated step is longer than 53 days, the longest time that is counted\n"
      "check batch, sequence length, model size and bandwidths");
}

void require(bool holds, const char* invariant) {
  if (!holds) throw std::logic_error(invariant);
}

}  // namespace

Picoseconds to_picoseconds(Seconds duration) {
  const double exact = duration.value * 1e12;
  require(exact >= 0, "a duration must be a number and not negative");
  if (exact > static_cast<double>(longest_step)) throw_too_long();
  // As std::round(), which is a call: a double's fraction is exact.
  const auto whole = static_cast<Picoseconds>(exact);
  return whole + (exact - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

void ProgramBuilder::reserve(std::size_t tasks, std::size_t dependencies) {
  program_.tasks_.reserve(tasks);
  program_.dependencies_.reserve(dependencies);
}

LaneId ProgramBuilder::add_lane(Lane lane) {
  require(lane.group <= program_.groups_, "groups must be numbered without gaps");
  program_.groups_ = std::max(program_.groups_, lane.group + 1);
  program_.lanes_.push_back(lane);
  program_.first_in_lane_.push_back(no_index);
  last_in_lane_.push_back(no_index);
  return LaneId{static_cast<std::uint32_t>(program_.lanes_.size() - 1)};
}

TaskId ProgramBuilder::add(const TaskSpec& spec, std::span<const TaskId> dependencies) {
  const std::uint32_t lane = index(spec.lane);
  const auto id = static_cast<std::uint32_t>(program_.tasks_.size());
  require(program_.tasks_.size() < no_index, "too many tasks for a 32-bit id");
  require(program_.dependencies_.size() + dependencies.size() < no_index,
          "too many dependencies for a 32-bit index");
  require(lane < program_.lanes_.size(), "a task must name a lane of its program");
  require(spec.work >= 0, "work must not be negative");
  require(spec.interference < interference_classes, "no such interference class");
  for (const TaskId dependency : dependencies) {
    require(index(dependency) < id, "a task may only depend on tasks added before it");
  }
  if (spec.work > longest_step - program_.total_work_) throw_too_long();

  Task task;
  task.work = spec.work;
  task.lane = lane;
  task.label = spec.label;
  task.interference = spec.interference;
  task.first_dependency = static_cast<std::uint32_t>(program_.dependencies_.size());
  task.dependency_count = static_cast<std::uint32_t>(dependencies.size());
  program_.tasks_.push_back(task);
  program_.dependencies_.insert(
      program_.dependencies_.end(), dependencies.begin(), dependencies.end());
  program_.total_work_ += spec.work;
  program_.interference_used_ |= 1U << spec.interference;

  const std::uint32_t before = std::exchange(last_in_lane_[lane], id);
  (before == no_index ? program_.first_in_lane_[lane] : program_.tasks_[before].next_in_lane) = id;
  return TaskId{id};
}

TaskId ProgramBuilder::add_flow(const TaskSpec& spec,
                                const FlowSpec& flow,
                                std::span<const TaskId> dependencies) {
  require(flow.demand.value > 0 && std::isfinite(flow.demand.value),
          "the demand of a flow must be positive and finite");
  const TaskId id = add(spec, dependencies);
  program_.tasks_.back().flow = program_.flow_count();
  program_.flow_demand_.push_back(flow.demand.value);
  program_.flow_links_.insert(program_.flow_links_.end(), flow.path.begin(), flow.path.end());
  program_.flow_begin_.push_back(static_cast<std::uint32_t>(program_.flow_links_.size()));
  return id;
}

TaskId ProgramBuilder::last_in_lane(LaneId lane) const {
  require(index(lane) < last_in_lane_.size() && last_in_lane_[index(lane)] != no_index,
          "the lane has no task yet");
  return TaskId{last_in_lane_[index(lane)]};
}

Program ProgramBuilder::build() {
  last_in_lane_.clear();
  return std::exchange(program_, Program{});
}

}  // namespace stepsight
