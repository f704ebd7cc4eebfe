#include "simulate/contention.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "model/errors.h"
#include "model/max_min.h"
#include "simulate/event_tree.h"

namespace stepsight {
namespace {

constexpr Picoseconds pending = -1;  // Timeline::end of a task that has not ended

struct LaneState {
  std::uint32_t task = no_index;         // running, or the next to run
  std::uint32_t checked = 0;             // dependencies of `task` known to be done
  std::uint32_t next_waiter = no_index;  // another lane that waits for the same task
  std::uint32_t flow_slot = no_index;    // position in Contention::flow_lanes_ while a flow runs
  std::uint32_t group = 0;
  std::uint8_t interference = 0;  // of the running task
  double rate = 0;                // 0 while no task runs
  double remaining = 0;
  Picoseconds since = 0;  // when `remaining` was last brought up to date
};

// Which classes run in a group: bit c for at least one task of class c, bit 8 + c for two or more.
struct GroupState {
  std::array<std::uint32_t, interference_classes> count{};
  std::uint32_t classes = 0;
  std::uint32_t rated = 0;  // `classes` when rates were last set
  bool touched = false;     // `classes` may differ from `rated`
};

// Rate of a class as a function of the set of classes that slow it, one bit each.
using RateTable = std::array<std::array<double, 1U << interference_classes>, interference_classes>;

void fill(RateTable& table, const SlowDownMatrix& slow_down, std::uint32_t used) {
  for (std::size_t victim = 0; victim < interference_classes; ++victim) {
    if ((used >> victim & 1U) == 0) continue;
    table[victim][0] = 1;
    for (std::uint32_t set = 1; set < table[victim].size(); ++set) {
      const auto lowest = static_cast<std::size_t>(std::countr_zero(set));
      table[victim][set] = table[victim][set & (set - 1)] * slow_down[victim][lowest];
    }
  }
}

// The state of one run. Sized before the loop: no vector below grows past its reserve in it.
class Contention {
 public:
  Contention(const Program& program, const Machine& machine);
  Timeline run();

 private:
  void release(std::uint32_t lane);
  bool blocked(std::uint32_t lane);
  void begin(std::uint32_t lane);
  void finish(std::uint32_t lane);
  void settle();
  void count(const LaneState& state, bool starts);
  void rerate_groups();
  void rerate_flows();
  void set_rate(std::uint32_t lane, double rate);
  void join_flows(std::uint32_t lane);
  void leave_flows(std::uint32_t lane);
  double class_rate(std::uint32_t lane) const;

  const Program& program_;
  std::span<const Task> tasks_;
  Timeline timeline_;
  Picoseconds now_ = 0;
  std::size_t ended_ = 0;
  EventTree events_;
  std::vector<LaneState> lanes_;
  std::vector<std::uint32_t> first_waiter_;  // a task: head of the list of lanes waiting for it
  std::vector<std::uint32_t> ready_;         // lanes to look at before time goes on
  std::vector<std::uint32_t> started_;       // lanes whose task started at this instant

  RateTable rates_;
  std::vector<GroupState> groups_;
  std::vector<std::uint32_t> touched_;      // groups
  std::vector<std::uint32_t> group_begin_;  // group g has the lanes group_lanes_[begin[g]..[g+1])
  std::vector<std::uint32_t> group_lanes_;

  bool flows_changed_ = false;
  std::vector<double> capacity_;           // a link: bytes per second
  std::vector<std::uint32_t> flow_lanes_;  // lanes that run a flow; the three below are parallel
  std::vector<std::uint32_t> flow_ids_;
  std::vector<double> flow_limit_;
  std::vector<double> flow_share_;
  MaxMinScratch scratch_;
};

Contention::Contention(const Program& program, const Machine& machine)
    : program_(program),
      tasks_(program.tasks()),
      events_(program.lanes().size()),
      lanes_(program.lanes().size()),
      first_waiter_(tasks_.size(), no_index),
      groups_(program.group_count()),
      group_begin_(program.group_count() + 1, 0),
      group_lanes_(program.lanes().size()) {
  timeline_.start.assign(tasks_.size(), pending);
  timeline_.end.assign(tasks_.size(), pending);
  const std::size_t lanes = lanes_.size();
  for (auto* list : {&ready_, &started_, &flow_lanes_, &flow_ids_}) list->reserve(lanes);
  touched_.reserve(groups_.size());
  flow_limit_.reserve(lanes);
  flow_share_.reserve(lanes);
  scratch_.rising.reserve(lanes);
  for (const BytesPerSecond link : machine.links) capacity_.push_back(link.value);
  scratch_.left.resize(capacity_.size());
  scratch_.users.resize(capacity_.size());

  fill(rates_, machine.slow_down, program.interference_used());
  for (const Lane& lane : program.lanes()) ++group_begin_[lane.group + 1];
  for (std::size_t g = 0; g < groups_.size(); ++g) group_begin_[g + 1] += group_begin_[g];
  std::vector<std::uint32_t> next(group_begin_.begin(), group_begin_.end());
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    lanes_[lane].group = program.lanes()[lane].group;
    group_lanes_[next[lanes_[lane].group]++] = lane;
    lanes_[lane].task = program.first_in_lane(LaneId{lane});
    if (lanes_[lane].task != no_index) ready_.push_back(lane);
  }
}

Timeline Contention::run() {
  settle();
  while (events_.next_time() != EventTree::never) {
    now_ = events_.next_time();
    do {
      finish(events_.next_lane());
    } while (events_.next_time() == now_);
    settle();
  }
  // Unreachable by invariant 1 of Program: the unfinished task with the smallest id never waits.
  if (ended_ != tasks_.size()) throw std::logic_error("the simulation stopped with tasks waiting");
  timeline_.makespan = now_;
  return std::move(timeline_);
}

// Starts all that can start now, then lets the rates follow.
void Contention::settle() {
  while (!ready_.empty()) {
    const std::uint32_t lane = ready_.back();
    ready_.pop_back();
    if (!blocked(lane)) begin(lane);
  }
  rerate_groups();
  if (flows_changed_) rerate_flows();
  started_.clear();
}

// Only the head of a lane can start, so only it is queued, and only with one dependency at a time:
// each dependency is looked at once in a run and no list of successors is needed.
bool Contention::blocked(std::uint32_t lane) {
  LaneState& state = lanes_[lane];
  const auto dependencies = program_.dependencies(tasks_[state.task]);
  for (; state.checked < dependencies.size(); ++state.checked) {
    const std::uint32_t dependency = index(dependencies[state.checked]);
    if (timeline_.end[dependency] == pending) {
      state.next_waiter = std::exchange(first_waiter_[dependency], lane);
      return true;
    }
  }
  return false;
}

void Contention::begin(std::uint32_t lane) {
  LaneState& state = lanes_[lane];
  const Task& task = tasks_[state.task];
  timeline_.start[state.task] = now_;
  if (task.work == 0) {
    release(lane);
    return;
  }
  state.interference = task.interference;
  count(state, true);
  if (task.flow != no_index) join_flows(lane);
  started_.push_back(lane);
}

void Contention::finish(std::uint32_t lane) {
  LaneState& state = lanes_[lane];
  count(state, false);
  if (state.flow_slot != no_index) leave_flows(lane);
  state.rate = 0;
  events_.set(lane, EventTree::never);
  release(lane);
}

// Ends the lane's task now: whoever waited for it, and the lane's next task, may be able to start.
void Contention::release(std::uint32_t lane) {
  LaneState& state = lanes_[lane];
  timeline_.end[state.task] = now_;
  ++ended_;
  for (std::uint32_t waiter = first_waiter_[state.task]; waiter != no_index;
       waiter = lanes_[waiter].next_waiter) {
    ready_.push_back(waiter);
  }
  state.task = tasks_[state.task].next_in_lane;
  state.checked = 0;
  if (state.task != no_index) ready_.push_back(lane);
}

void Contention::count(const LaneState& state, bool starts) {
  const std::uint32_t c = state.interference;
  if (c == 0) return;
  GroupState& group = groups_[state.group];
  group.count[c] += starts ? 1U : ~0U;
  const std::uint32_t present = 1U << c;
  const std::uint32_t crowded = present << interference_classes;
  group.classes &= ~(present | crowded);
  if (group.count[c] > 0) group.classes |= present;
  if (group.count[c] > 1) group.classes |= crowded;
  if (!group.touched) {
    group.touched = true;
    touched_.push_back(state.group);
  }
}

// Rates of a group follow from which classes run, not from how many: where a kernel follows a
// kernel of the same class at once, which is the rule, nothing running needs to be looked at.
void Contention::rerate_groups() {
  for (const std::uint32_t g : touched_) {
    GroupState& group = groups_[g];
    group.touched = false;
    if (group.classes == group.rated) continue;
    group.rated = group.classes;
    for (std::uint32_t i = group_begin_[g]; i < group_begin_[g + 1]; ++i) {
      const std::uint32_t lane = group_lanes_[i];
      if (lanes_[lane].rate == 0) continue;
      if (lanes_[lane].flow_slot == no_index) {
        set_rate(lane, class_rate(lane));
      } else {
        flows_changed_ = true;
      }
    }
  }
  touched_.clear();
  for (const std::uint32_t lane : started_) {
    if (lanes_[lane].flow_slot == no_index) set_rate(lane, class_rate(lane));
  }
}

double Contention::class_rate(std::uint32_t lane) const {
  const LaneState& state = lanes_[lane];
  if (state.interference == 0) return 1;
  const std::uint32_t classes = groups_[state.group].classes;
  const std::uint32_t self = 1U << state.interference;
  const std::uint32_t present = classes & ((1U << interference_classes) - 1);
  const std::uint32_t crowded = classes >> interference_classes;
  return rates_[state.interference][(present & ~self) | (crowded & self)];
}

void Contention::rerate_flows() {
  flows_changed_ = false;
  flow_limit_.resize(flow_lanes_.size());
  flow_share_.resize(flow_lanes_.size());
  for (std::size_t i = 0; i < flow_lanes_.size(); ++i) {
    flow_limit_[i] = program_.flow_demand()[flow_ids_[i]] * class_rate(flow_lanes_[i]);
  }
  max_min_fair({program_.flow_begin(), program_.flow_links()},
               capacity_,
               flow_ids_,
               flow_limit_,
               flow_share_,
               scratch_);
  for (std::size_t i = 0; i < flow_lanes_.size(); ++i) {
    set_rate(flow_lanes_[i], flow_share_[i] / program_.flow_demand()[flow_ids_[i]]);
  }
}

void Contention::join_flows(std::uint32_t lane) {
  lanes_[lane].flow_slot = static_cast<std::uint32_t>(flow_lanes_.size());
  flow_lanes_.push_back(lane);
  flow_ids_.push_back(tasks_[lanes_[lane].task].flow);
  flows_changed_ = true;
}

// The last flow takes the place of the one that leaves.
void Contention::leave_flows(std::uint32_t lane) {
  const std::uint32_t slot = lanes_[lane].flow_slot;
  lanes_[flow_lanes_.back()].flow_slot = slot;
  lanes_[lane].flow_slot = no_index;
  flow_lanes_[slot] = flow_lanes_.back();
  flow_ids_[slot] = flow_ids_.back();
  flow_lanes_.pop_back();
  flow_ids_.pop_back();
  flows_changed_ = true;
}

// Brings the lane's remaining work up to date and sets when it ends: the one place that rounds.
void Contention::set_rate(std::uint32_t lane, double rate) {
  LaneState& state = lanes_[lane];
  if (rate == state.rate) return;
  const Picoseconds work = tasks_[state.task].work;
  const bool fresh = state.rate == 0;
  const double done = fresh ? 0.0 : state.rate * static_cast<double>(now_ - state.since);
  state.remaining = std::max(0.0, (fresh ? static_cast<double>(work) : state.remaining) - done);
  state.since = now_;
  state.rate = rate;
  const double wait = state.remaining / rate;
  if (wait > static_cast<double>(longest_step - now_)) {
    throw UserError("the simulated step is longer than 53 days under contention");
  }
  // A double does not hold every int64: what runs at full rate from its start takes exactly `work`.
  events_.set(lane, now_ + (fresh && rate == 1 ? work : static_cast<Picoseconds>(wait + 0.5)));
}

}  // namespace

Timeline run_with_contention(const Program& program, const Machine& machine) {
  return Contention(program, machine).run();
}

}  // namespace stepsight
