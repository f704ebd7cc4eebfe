// What must hold for every program, on random ones. Without contention it is compared with the
// longest path; with it, with a slow simulator that recomputes everything at every event.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <rapidcheck.h>

#include "model/max_min.h"
#include "simulate/engine.h"
#include "tests/catch2.h"

namespace stepsight {
namespace {

constexpr std::uint32_t link_count = 2;

struct DraftTask {
  std::uint32_t lane = 0;
  Picoseconds work = 0;
  std::uint8_t interference = 0;
  std::vector<std::uint32_t> dependencies;
  std::vector<std::uint32_t> path;  // links, for a flow
  double demand = 0;                // 0 for an ordinary task
};

// A program in a form that a test can change before it is built.
struct Draft {
  std::vector<Lane> lanes;
  std::vector<DraftTask> tasks;
};

Program build(const Draft& draft) {
  ProgramBuilder builder;
  for (const Lane& lane : draft.lanes) builder.add_lane(lane);
  for (const DraftTask& task : draft.tasks) {
    std::vector<TaskId> dependencies;
    for (const std::uint32_t d : task.dependencies) dependencies.push_back(TaskId{d});
    const TaskSpec spec{LaneId{task.lane}, task.work, 0, task.interference};
    if (task.demand == 0) {
      builder.add(spec, dependencies);
      continue;
    }
    std::vector<LinkId> path;
    for (const std::uint32_t link : task.path) path.push_back(LinkId{link});
    builder.add_flow(spec, {path, BytesPerSecond{task.demand}}, dependencies);
  }
  return builder.build();
}

// Uniform: left alone, rapidcheck draws near `low` in its early rounds, and coins all fall one way.
int between(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}
std::uint32_t below(std::size_t n) {
  return static_cast<std::uint32_t>(between(0, static_cast<int>(n) - 1));
}

// Half the works are below 20 so that ties, and events that meet at one instant, are common.
Draft random_draft(bool flows) {
  Draft draft;
  const int groups = between(1, 3);
  for (int g = 0; g < groups; ++g) {
    const int lanes = between(1, 4);
    for (int i = 0; i < lanes; ++i) {
      draft.lanes.push_back({static_cast<LaneClass>(between(0, 3)), static_cast<std::uint32_t>(g)});
    }
  }
  const int tasks = between(1, 40);
  for (int t = 0; t < tasks; ++t) {
    DraftTask task;
    task.lane = below(draft.lanes.size());
    task.work = between(0, 1) == 0 ? between(0, 20) : between(0, 1'000'000);
    task.interference = static_cast<std::uint8_t>(between(0, 3));
    for (int d = between(0, std::min(t, 3)); d > 0; --d) {
      task.dependencies.push_back(below(static_cast<std::size_t>(t)));
    }
    if (flows && between(0, 2) == 0) {
      task.demand = between(1, 10);
      for (std::uint32_t link = 0; link < link_count; ++link) {
        if (between(0, 1) == 0) task.path.push_back(link);
      }
    }
    draft.tasks.push_back(task);
  }
  return draft;
}

Machine random_machine() {
  Machine machine;
  for (std::size_t victim = 1; victim < 4; ++victim) {
    for (std::size_t aggressor = 1; aggressor < 4; ++aggressor) {
      machine.slow_down[victim][aggressor] = between(0, 2) == 0 ? 1 : between(3, 10) / 10.0;
    }
  }
  for (std::uint32_t link = 0; link < link_count; ++link) {
    machine.links.push_back(BytesPerSecond{static_cast<double>(between(4, 20))});
  }
  return machine;
}

std::optional<std::uint32_t> lane_predecessor(const Draft& draft, std::uint32_t task) {
  for (std::uint32_t t = task; t-- > 0;) {
    if (draft.tasks[t].lane == draft.tasks[task].lane) return t;
  }
  return std::nullopt;
}

// When everything that a task waits for has ended.
Picoseconds released(const Draft& draft, const std::vector<Picoseconds>& end, std::uint32_t task) {
  Picoseconds time = 0;
  if (const auto before = lane_predecessor(draft, task)) time = end[*before];
  for (const std::uint32_t d : draft.tasks[task].dependencies) time = std::max(time, end[d]);
  return time;
}

// Longest path by relaxation to a fixed point: nothing of the engine's order is used.
std::vector<Picoseconds> longest_path_ends(const Draft& draft) {
  std::vector<Picoseconds> end(draft.tasks.size(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto t = static_cast<std::uint32_t>(draft.tasks.size()); t-- > 0;) {
      const Picoseconds later = released(draft, end, t) + draft.tasks[t].work;
      changed = changed || later != end[t];
      end[t] = later;
    }
  }
  return end;
}

// The reference: time in double and unrounded, every rate recomputed from its definition at every
// event, no queue.
class Reference {
 public:
  Reference(const Draft& draft, const Machine& machine)
      : draft_(draft), machine_(machine), program_(build(draft)) {
    for (const DraftTask& task : draft.tasks) left_.push_back(static_cast<double>(task.work));
    state_.assign(draft.tasks.size(), State::waiting);
    end.assign(draft.tasks.size(), 0);
  }

  std::vector<double> end;

  void run() {
    double now = 0;
    while (start_ready(now)) {
      const std::vector<double> rate = rates();
      double step = 1e300;
      for (std::size_t t = 0; t < left_.size(); ++t) {
        if (state_[t] == State::running) step = std::min(step, left_[t] / rate[t]);
      }
      now += step;
      for (std::size_t t = 0; t < left_.size(); ++t) {
        if (state_[t] != State::running) continue;
        left_[t] -= rate[t] * step;
        if (left_[t] < 1e-6) finish(t, now);
      }
    }
  }

 private:
  enum class State { waiting, running, done };

  void finish(std::size_t task, double now) {
    state_[task] = State::done;
    end[task] = now;
  }

  // Starts what can start, ends what has no work; whether anything runs.
  bool start_ready(double now) {
    for (bool again = true; again;) {
      again = false;
      for (std::uint32_t t = 0; t < left_.size(); ++t) {
        if (state_[t] != State::waiting || !can_start(t)) continue;
        state_[t] = State::running;
        if (left_[t] == 0) finish(t, now);
        again = true;
      }
    }
    return std::count(state_.begin(), state_.end(), State::running) > 0;
  }

  bool can_start(std::uint32_t task) const {
    const auto done = [&](std::uint32_t t) { return state_[t] == State::done; };
    const auto before = lane_predecessor(draft_, task);
    const auto& dependencies = draft_.tasks[task].dependencies;
    return (!before || done(*before)) &&
           std::all_of(dependencies.begin(), dependencies.end(), done);
  }

  double class_rate(std::size_t victim) const {
    const std::uint8_t own = draft_.tasks[victim].interference;
    std::vector<bool> slows(interference_classes, false);
    for (std::size_t t = 0; t < left_.size(); ++t) {
      if (t == victim || state_[t] != State::running) continue;
      if (draft_.lanes[draft_.tasks[t].lane].group !=
          draft_.lanes[draft_.tasks[victim].lane].group) {
        continue;
      }
      slows[draft_.tasks[t].interference] = true;
    }
    double rate = 1;
    for (std::size_t c = 0; c < interference_classes; ++c) {
      if (slows[c]) rate *= machine_.slow_down[own][c];
    }
    return rate;
  }

  std::vector<double> rates() const {
    std::vector<double> rate(left_.size(), 0);
    std::vector<std::uint32_t> active;
    std::vector<std::size_t> task_of_flow;
    std::vector<double> limit;
    for (std::size_t t = 0; t < left_.size(); ++t) {
      if (state_[t] != State::running) continue;
      rate[t] = class_rate(t);
      if (draft_.tasks[t].demand == 0) continue;
      active.push_back(program_.tasks()[t].flow);
      task_of_flow.push_back(t);
      limit.push_back(rate[t] * draft_.tasks[t].demand);
    }
    std::vector<double> capacity;
    for (const BytesPerSecond link : machine_.links) capacity.push_back(link.value);
    std::vector<double> share(active.size());
    MaxMinScratch scratch;
    max_min_fair(
        {program_.flow_begin(), program_.flow_links()}, capacity, active, limit, share, scratch);
    for (std::size_t i = 0; i < active.size(); ++i) {
      rate[task_of_flow[i]] = share[i] / draft_.tasks[task_of_flow[i]].demand;
    }
    return rate;
  }

  const Draft& draft_;
  const Machine& machine_;
  Program program_;
  std::vector<double> left_;
  std::vector<State> state_;
};

}  // namespace

TEST_CASE("Without contention every task ends at the length of its longest path") {
  CHECK(rc::check("ends are longest paths", [] {
    const Draft draft = random_draft(false);
    const Timeline timeline = run(build(draft));
    RC_ASSERT(timeline.end == longest_path_ends(draft));
    RC_ASSERT(timeline.makespan == *std::max_element(timeline.end.begin(), timeline.end.end()));
  }));
}

TEST_CASE("The general path gives the same bytes as the fast one where nothing slows") {
  CHECK(rc::check("both paths agree", [] {
    Draft draft = random_draft(false);
    const Timeline fast = run(build(draft));
    // A flow sends the program down the general path; its link is wide enough not to matter.
    draft.tasks[below(draft.tasks.size())].demand = 1;
    RC_ASSERT(run(build(draft)) == fast);
  }));
}

TEST_CASE("The makespan is at least the critical path's work and at least the busiest lane") {
  CHECK(rc::check("lower bounds", [] {
    const Draft draft = random_draft(true);
    const Timeline timeline = run(build(draft), random_machine());
    const std::vector<Picoseconds> ends = longest_path_ends(draft);
    RC_ASSERT(timeline.makespan >= *std::max_element(ends.begin(), ends.end()));
    std::vector<Picoseconds> lane_work(draft.lanes.size(), 0);
    for (const DraftTask& task : draft.tasks) lane_work[task.lane] += task.work;
    RC_ASSERT(timeline.makespan >= *std::max_element(lane_work.begin(), lane_work.end()));
  }));
}

TEST_CASE("Under contention too a task starts the instant it is released and never before") {
  CHECK(rc::check("work conserving", [] {
    const Draft draft = random_draft(true);
    const Timeline timeline = run(build(draft), random_machine());
    for (std::uint32_t t = 0; t < draft.tasks.size(); ++t) {
      RC_ASSERT(timeline.start[t] == released(draft, timeline.end, t));
      RC_ASSERT(timeline.end[t] - timeline.start[t] >= draft.tasks[t].work - 1);
    }
  }));
}

TEST_CASE("The engine agrees with a simulator that recomputes everything at every event") {
  CHECK(rc::check("reference", [] {
    const Draft draft = random_draft(true);
    const Machine machine = random_machine();
    const Timeline timeline = run(build(draft), machine);
    Reference reference(draft, machine);
    reference.run();
    // Each end is rounded to a picosecond; a chain of them, and what it shifts, adds up.
    const double tolerance = 2.0 * static_cast<double>(draft.tasks.size());
    for (std::size_t t = 0; t < draft.tasks.size(); ++t) {
      RC_ASSERT(std::abs(static_cast<double>(timeline.end[t]) - reference.end[t]) <= tolerance);
    }
  }));
}

TEST_CASE("Without contention less work on one task makes no task end later") {
  CHECK(rc::check("a faster link never hurts", [] {
    Draft draft = random_draft(false);
    const Timeline before = run(build(draft));
    Picoseconds& work = draft.tasks[below(draft.tasks.size())].work;
    work = between(0, static_cast<int>(work));
    const Timeline after = run(build(draft));
    for (std::size_t t = 0; t < draft.tasks.size(); ++t) RC_ASSERT(after.end[t] <= before.end[t]);
  }));
}

TEST_CASE("Without contention one more dependency makes no task end earlier") {
  CHECK(rc::check("a dependency never helps", [] {
    Draft draft = random_draft(false);
    RC_PRE(draft.tasks.size() > 1);
    const Timeline before = run(build(draft));
    const std::uint32_t task = 1 + below(draft.tasks.size() - 1);
    draft.tasks[task].dependencies.push_back(below(task));
    const Timeline after = run(build(draft));
    for (std::size_t t = 0; t < draft.tasks.size(); ++t) RC_ASSERT(after.end[t] >= before.end[t]);
  }));
}

TEST_CASE("Slow-down stretches a step by no more than its lowest rate") {
  // Every rate is at least `lowest` at all times, so no task takes longer than work / lowest, and
  // the longest path with those durations is the full-rate makespan / lowest. This is what remains
  // of "a faster link never hurts" under contention.
  CHECK(rc::check("upper bound", [] {
    const Draft draft = random_draft(false);
    const Machine machine = random_machine();
    double lowest = 1;
    for (const auto& row : machine.slow_down) {
      lowest = std::min(lowest, std::accumulate(row.begin(), row.end(), 1.0, std::multiplies<>()));
    }
    const Program program = build(draft);
    const auto rounding = static_cast<double>(draft.tasks.size());
    RC_ASSERT(static_cast<double>(run(program, machine).makespan) <=
              static_cast<double>(run(program).makespan) / lowest + rounding);
  }));
}

TEST_CASE("A task split into two that follow each other changes nothing for the others") {
  CHECK(rc::check("splitting", [] {
    const Draft draft = random_draft(false);
    const std::uint32_t split = below(draft.tasks.size());
    Draft halves = draft;
    const auto at = halves.tasks.begin() + static_cast<std::ptrdiff_t>(split);
    DraftTask second = *at;
    at->work = between(0, static_cast<int>(second.work));
    second.work -= at->work;
    second.dependencies.clear();
    halves.tasks.insert(at + 1, second);
    // Whoever waited for the task waits for its second half; later tasks have moved by one.
    for (std::size_t t = split + 2; t < halves.tasks.size(); ++t) {
      for (std::uint32_t& d : halves.tasks[t].dependencies) d += d >= split ? 1 : 0;
    }
    Timeline timeline = run(build(halves));
    const Timeline whole = run(build(draft));
    RC_ASSERT(timeline.start[split] == whole.start[split]);
    timeline.start.erase(timeline.start.begin() + static_cast<std::ptrdiff_t>(split) + 1);
    timeline.end.erase(timeline.end.begin() + static_cast<std::ptrdiff_t>(split));
    RC_ASSERT(timeline == whole);
  }));
}

TEST_CASE("The critical path is a chain without gaps as long as the step") {
  CHECK(rc::check("critical path", [] {
    const Draft draft = random_draft(true);
    const Program program = build(draft);
    const Timeline timeline = run(program, random_machine());
    const std::vector<TaskId> path = critical_path(program, timeline);
    RC_ASSERT(timeline.end[index(path.front())] == timeline.makespan);
    RC_ASSERT(timeline.start[index(path.back())] == 0);
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      RC_ASSERT(timeline.start[index(path[i])] == timeline.end[index(path[i + 1])]);
    }
  }));
}

TEST_CASE("Hidden and exposed communication add up, and no lane is busier than the step is long") {
  CHECK(rc::check("overlap", [] {
    const Draft draft = random_draft(true);
    const Program program = build(draft);
    const Timeline timeline = run(program, random_machine());
    for (const Picoseconds busy : lane_busy(program, timeline)) {
      RC_ASSERT(busy <= timeline.makespan);
    }
    const auto runs = [&](LaneClass c) { return running(program, timeline, 0, c); };
    const Intervals moving = unite(runs(LaneClass::communication), runs(LaneClass::copy));
    const Intervals compute = runs(LaneClass::compute);
    const Overlap overlap = communication_overlap(program, timeline, 0);
    RC_ASSERT(overlap.hidden + overlap.exposed == total(moving));
    RC_ASSERT(overlap.exposed == total(unite(moving, compute)) - total(compute));
  }));
}

TEST_CASE("Max-min shares fit the links, and whoever gets less than asked is held by a full one") {
  CHECK(rc::check("max-min", [] {
    const auto capacity = *rc::gen::container<std::vector<double>>(
        3, rc::gen::map(rc::gen::inRange(1, 100), [](int c) { return static_cast<double>(c); }));
    const std::uint32_t flows = 1 + below(10);
    std::vector<std::uint32_t> begin{0};
    std::vector<LinkId> links;
    std::vector<double> limit;
    for (std::uint32_t f = 0; f < flows; ++f) {
      for (std::uint32_t link = 0; link < 3; ++link) {
        if (between(0, 1) == 0) links.push_back(LinkId{link});
      }
      begin.push_back(static_cast<std::uint32_t>(links.size()));
      limit.push_back(between(1, 50));
    }
    std::vector<std::uint32_t> active(flows);
    std::iota(active.begin(), active.end(), 0U);
    std::vector<double> share(flows);
    MaxMinScratch scratch;
    const FlowPaths paths{begin, links};
    max_min_fair(paths, capacity, active, limit, share, scratch);

    std::vector<double> load(3, 0);
    std::vector<double> largest(3, 0);
    for (const std::uint32_t f : active) {
      for (const LinkId link : paths.of(f)) {
        load[index(link)] += share[f];
        largest[index(link)] = std::max(largest[index(link)], share[f]);
      }
    }
    for (std::size_t link = 0; link < 3; ++link) RC_ASSERT(load[link] <= capacity[link] * 1.000001);
    for (const std::uint32_t f : active) {
      RC_ASSERT(share[f] > 0);
      const auto path = paths.of(f);
      const bool held = std::any_of(path.begin(), path.end(), [&](LinkId link) {
        return load[index(link)] >= capacity[index(link)] * 0.999999 &&
               share[f] >= largest[index(link)] * 0.999999;
      });
      RC_ASSERT(share[f] == limit[f] || held);
    }
  }));
}

}  // namespace stepsight
