#include "simulate/timeline.h"

#include <algorithm>
#include <utility>

namespace stepsight {
namespace {

// Appends to a sorted list, joining what overlaps or touches.
void append(Intervals& list, Interval next) {
  if (next.begin == next.end) return;
  if (!list.empty() && next.begin <= list.back().end) {
    list.back().end = std::max(list.back().end, next.end);
  } else {
    list.push_back(next);
  }
}

// Tasks of a lane follow one another, so their stretches are sorted already.
Intervals lane_intervals(const Program& program, const Timeline& timeline, LaneId lane) {
  Intervals out;
  for (std::uint32_t t = program.first_in_lane(lane); t != no_index;
       t = program.tasks()[t].next_in_lane) {
    append(out, {timeline.start[t], timeline.end[t]});
  }
  return out;
}

std::vector<std::uint32_t> lane_predecessors(const Program& program) {
  const auto tasks = program.tasks();
  std::vector<std::uint32_t> before(tasks.size(), no_index);
  for (std::uint32_t t = 0; t < tasks.size(); ++t) {
    if (tasks[t].next_in_lane != no_index) before[tasks[t].next_in_lane] = t;
  }
  return before;
}

}  // namespace

std::vector<Picoseconds> lane_busy(const Program& program, const Timeline& timeline) {
  std::vector<Picoseconds> busy(program.lanes().size(), 0);
  const auto tasks = program.tasks();
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    busy[tasks[t].lane] += timeline.end[t] - timeline.start[t];
  }
  return busy;
}

std::vector<ClassTimes> class_busy(const Program& program, const Timeline& timeline) {
  std::vector<ClassTimes> busy(program.group_count());
  const auto lanes = program.lanes();
  const std::vector<Picoseconds> by_lane = lane_busy(program, timeline);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    busy[lanes[i].group][static_cast<std::size_t>(lanes[i].lane_class)] += by_lane[i];
  }
  return busy;
}

Intervals running(const Program& program,
                  const Timeline& timeline,
                  std::uint32_t group,
                  LaneClass lane_class) {
  Intervals out;
  const auto lanes = program.lanes();
  for (std::uint32_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].group != group || lanes[i].lane_class != lane_class) continue;
    Intervals lane = lane_intervals(program, timeline, LaneId{i});
    out = out.empty() ? std::move(lane) : unite(out, lane);
  }
  return out;
}

Intervals unite(const Intervals& a, const Intervals& b) {
  Intervals out;
  out.reserve(a.size() + b.size());
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const bool from_a = j == b.size() || (i < a.size() && a[i].begin <= b[j].begin);
    append(out, from_a ? a[i++] : b[j++]);
  }
  return out;
}

Intervals intersect(const Intervals& a, const Intervals& b) {
  Intervals out;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const Picoseconds begin = std::max(a[i].begin, b[j].begin);
    const Picoseconds end = std::min(a[i].end, b[j].end);
    if (begin < end) out.push_back({begin, end});
    // The one that ends first cannot meet anything further.
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return out;
}

Picoseconds total(const Intervals& intervals) {
  Picoseconds sum = 0;
  for (const Interval& interval : intervals) sum += interval.end - interval.begin;
  return sum;
}

Overlap communication_overlap(const Program& program,
                              const Timeline& timeline,
                              std::uint32_t group) {
  const Intervals compute = running(program, timeline, group, LaneClass::compute);
  const Intervals moving = unite(running(program, timeline, group, LaneClass::communication),
                                 running(program, timeline, group, LaneClass::copy));
  Overlap out;
  out.compute = total(compute);
  out.hidden = total(intersect(compute, moving));
  out.exposed = total(moving) - out.hidden;
  return out;
}

std::vector<TaskId> critical_path(const Program& program, const Timeline& timeline) {
  std::vector<TaskId> path;
  const auto tasks = program.tasks();
  if (tasks.empty()) return path;
  const std::vector<std::uint32_t> before = lane_predecessors(program);
  const auto last = std::find(timeline.end.begin(), timeline.end.end(), timeline.makespan);
  auto t = static_cast<std::uint32_t>(last - timeline.end.begin());
  while (t != no_index) {
    path.push_back(TaskId{t});
    const auto released = [&](std::uint32_t by) { return timeline.end[by] == timeline.start[t]; };
    std::uint32_t releaser = before[t];
    if (releaser == no_index || !released(releaser)) {
      const auto dependencies = program.dependencies(tasks[t]);
      const auto found = std::find_if(
          dependencies.begin(), dependencies.end(), [&](TaskId id) { return released(index(id)); });
      releaser = found == dependencies.end() ? no_index : index(*found);
    }
    t = releaser;
  }
  return path;
}

}  // namespace stepsight
