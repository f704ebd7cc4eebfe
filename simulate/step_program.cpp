#include "simulate/step_program.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>

#include "simulate/unit_queue.h"

namespace stepsight {

namespace {

class Builder {
 public:
  Builder(const StepParts& parts, const TimedStep& timed)
      : work_(parts.work),
        scenario_(parts.scenario),
        parallel_(parts.scenario.parallel),
        timed_(timed),
        loopback_(parts.links.gradients.kind == Link::Kind::loopback),
        exchanges_(!timed.buckets.empty() || timed.units.count > 0),
        stashes_(parallel_.offload == Offload::activations) {}

  StepProgram build(int repeats);

 private:
  [[nodiscard]] bool sharded() const { return timed_.units.count > 0; }
  [[nodiscard]] const TimedUnit& unit(std::int64_t i) const {
    return i + 1 == timed_.units.count ? timed_.units.last : timed_.units.block;
  }
  // The i-th in the order of forward; the last ones may be kept from recomputation.
  [[nodiscard]] const TimedStage& block(std::int64_t i) const {
    return i < work_.blocks - work_.kept_blocks ? timed_.block : timed_.kept_block;
  }
  [[nodiscard]] std::int64_t blocks_of(std::int64_t unit) const;

  TaskId issue(const Timed& op) { return tasks_.add({out_.host, op.issue, op.label, 0}); }
  TaskId compute(const Timed& op);
  TaskId travel(const Timed& message, TaskId after);
  TaskId beside(const Timed& kernels, TaskId after);
  TaskId host_copy(LaneId lane, const Timed& copy, TaskId after);
  void wait_for(TaskId task) { awaited_.push_back(task); }
  void stash(std::int64_t block);
  void wait_for_stash(std::int64_t block);
  void restore(std::int64_t block);
  void wait_for_restored(std::int64_t block);
  void block_forward(std::int64_t block);
  void block_backward(std::int64_t block, bool sync, bool accumulate);
  void operators(std::span<const Timed> list, std::span<const TimedExchange> exchanges);
  template <typename Then>
  void operators(std::span<const Timed> list, std::span<const TimedExchange> exchanges, Then then);
  TaskId exchange(const TimedExchange& e);

  void forward();
  void backward(bool sync, bool accumulate);
  void backward(const TimedStage& stage, bool sync, bool accumulate);
  void gradient_ready(const TimedStage& stage, std::size_t i, bool sync, bool accumulate);
  void send_bucket(TaskId last_copy);

  void gather(const TimedUnit& u);
  void enter(const TimedUnit& u);
  void scatter(const TimedUnit& u);
  void sharded_forward();
  void sharded_backward(bool sync, bool accumulate);

  void optimizer();
  void host_update();
  void step();

  const StepWork& work_;
  const Scenario& scenario_;
  const Parallel& parallel_;
  const TimedStep& timed_;
  bool loopback_;
  bool exchanges_;
  bool stashes_;

  StepProgram out_;
  ProgramBuilder tasks_;
  std::vector<TaskId> awaited_;  // what the next compute task waits for besides its issue
  std::size_t next_tensor_ = 0;
  std::size_t next_bucket_ = 0;
  std::vector<TaskId> sent_;     // by bucket of this backward
  std::vector<TaskId> waiting_;  // last copies of full buckets that wait for backward
  bool any_sent_ = false;
  UnitQueue units_{parallel_.prefetch};
  std::vector<TaskId> stashed_, restored_;  // by block, of this micro-step
};

TaskId Builder::compute(const Timed& op) {
  const TaskId issued = issue(op);
  const TaskSpec spec{out_.compute, op.kernel, op.label, class_of(op)};
  if (awaited_.empty()) return tasks_.add(spec, {issued});
  awaited_.insert(awaited_.begin(), issued);
  const TaskId task = tasks_.add(spec, awaited_);
  awaited_.clear();
  return task;
}

TaskId Builder::host_copy(LaneId lane, const Timed& copy, TaskId after) {
  return tasks_.add({lane, copy.kernel, copy.label, copy_class}, {issue(copy), after});
}

// A block's activations leave once it has run; the block after the next needs their room.
constexpr std::int64_t stashed_blocks = 2;

void Builder::stash(std::int64_t block) {
  if (!stashes_) return;
  stashed_.push_back(
      host_copy(out_.to_host, this->block(block).stash, tasks_.last_in_lane(out_.compute)));
}
void Builder::wait_for_stash(std::int64_t block) {
  if (stashes_ && block >= stashed_blocks) {
    wait_for(stashed_[static_cast<std::size_t>(block - stashed_blocks)]);
  }
}

// They come back one block ahead of backward.
void Builder::restore(std::int64_t block) {
  if (!stashes_ || block < 0) return;
  const TaskId computed = tasks_.last_in_lane(out_.compute);
  const TaskId issued = issue(this->block(block).restore);
  const Timed& copy = this->block(block).restore;
  restored_.push_back(tasks_.add({out_.from_host, copy.kernel, copy.label, copy_class},
                                 {issued, computed, stashed_[static_cast<std::size_t>(block)]}));
}
// Blocks are restored from the last one down.
void Builder::wait_for_restored(std::int64_t block) {
  if (stashes_) wait_for(restored_[static_cast<std::size_t>(work_.blocks - 1 - block)]);
}

void Builder::block_forward(std::int64_t block) {
  wait_for_stash(block);
  operators(timed_.block.forward, timed_.block.forward_exchanges);
  stash(block);
}

void Builder::block_backward(std::int64_t block, bool sync, bool accumulate) {
  restore(block - 1);
  wait_for_restored(block);
  backward(this->block(block), sync, accumulate);
}

// A message between data-parallel ranks, once its data are there.
TaskId Builder::travel(const Timed& message, TaskId after) {
  const TaskId issued = issue(message);
  any_sent_ = true;
  return tasks_.add({out_.communication,
                     message.kernel,
                     message.label,
                     loopback_ ? copy_class : collective_class},
                    {issued, after});
}

// Kernels that a message waits for, or that wait for it, beside what computes; without any,
// `after`.
TaskId Builder::beside(const Timed& kernels, TaskId after) {
  if (kernels.kernel == 0) return after;
  return tasks_.add({out_.communication, kernels.kernel, kernels.label, beside_class}, {after});
}

// A lane is in order: what waits for the last of several messages waits for all.
TaskId Builder::exchange(const TimedExchange& e) {
  const TaskId ready = tasks_.last_in_lane(out_.compute);
  const TaskId issued = e.stops_host
                            ? tasks_.add({out_.host, e.message.issue, e.message.label, 0}, {ready})
                            : issue(e.message);
  return tasks_.add({out_.exchange, e.message.kernel, e.message.label, collective_class},
                    {issued, ready});
}

// Operators in order, with the messages among them; `then(i)` after the i-th.
template <typename Then>
void Builder::operators(std::span<const Timed> list,
                        std::span<const TimedExchange> exchanges,
                        Then then) {
  std::size_t next = 0;
  constexpr auto nothing = std::numeric_limits<std::size_t>::max();
  std::size_t due = nothing;  // where the message in flight is waited for
  TaskId in_flight{};
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (due != nothing && i >= std::min(due, list.size())) {
      wait_for(in_flight);
      due = nothing;
    }
    while (next < exchanges.size() && exchanges[next].before == i) {
      const TaskId done = exchange(exchanges[next]);
      if (exchanges[next].beside > 0) {
        in_flight = done;
        due = i + exchanges[next].beside;
      } else {
        wait_for(done);
      }
      ++next;
    }
    if (i == list.size()) break;
    compute(list[i]);
    then(i);
  }
}

void Builder::operators(std::span<const Timed> list, std::span<const TimedExchange> exchanges) {
  operators(list, exchanges, [](std::size_t) {});
}

void Builder::forward() {
  operators(timed_.embedding.forward, timed_.embedding.forward_exchanges);
  stashed_.clear();
  for (std::int64_t i = 0; i < work_.blocks; ++i) block_forward(i);
  operators(timed_.head.forward, timed_.head.forward_exchanges);
}

void Builder::send_bucket(TaskId last_copy) {
  sent_.push_back(travel(timed_.bucket[next_bucket_], last_copy));
  if (!timed_.bucket_to_host.empty()) {
    host_copy(out_.to_host, timed_.bucket_to_host[next_bucket_], sent_.back());
  }
  ++next_bucket_;
}

// The gradient of the next tensor in ready order, the stage's i-th, is complete.
void Builder::gradient_ready(const TimedStage& stage, std::size_t i, bool sync, bool accumulate) {
  if (accumulate && !stage.accumulate.empty()) compute(stage.accumulate[i]);
  if (sync && timed_.reduces(next_tensor_)) {
    const TaskId copied = compute(stage.copy[i]);
    const Bucket& bucket = timed_.buckets[next_bucket_ + waiting_.size()];
    if (next_tensor_ == bucket.last_tensor) {
      if (parallel_.overlap) {
        send_bucket(copied);
      } else {
        waiting_.push_back(copied);
      }
    }
  } else if (sync && !stage.to_host.empty()) {
    host_copy(out_.to_host, stage.to_host[i], tasks_.last_in_lane(out_.compute));
  }
  ++next_tensor_;
}

void Builder::backward(const TimedStage& stage, bool sync, bool accumulate) {
  std::size_t ready = 0;
  operators(stage.backward, stage.backward_exchanges, [&](std::size_t i) {
    while (ready < stage.ready.size() && stage.ready[ready].after == i) {
      if (sync || accumulate) gradient_ready(stage, ready, sync, accumulate);
      ++ready;
    }
  });
}

void Builder::backward(bool sync, bool accumulate) {
  next_tensor_ = 0;
  next_bucket_ = 0;
  sent_.clear();
  restored_.clear();
  restore(work_.blocks - 1);
  backward(timed_.head, sync, accumulate);
  for (std::int64_t i = work_.blocks - 1; i >= 0; --i) block_backward(i, sync, accumulate);
  backward(timed_.embedding, sync, accumulate);
  // Without overlap every bucket waits for the last gradient.
  const std::vector<TaskId> held = std::move(waiting_);
  waiting_.clear();
  for (std::size_t i = 0; i < held.size(); ++i) send_bucket(held.back());
  if (!sync) return;
  for (std::size_t i = 0; i < timed_.copy_back.size(); ++i) {
    wait_for(sent_[i]);
    compute(timed_.copy_back[i]);
  }
}

std::int64_t Builder::blocks_of(std::int64_t unit) const {
  const std::int64_t each = parallel_.unit_layers;
  return std::min(each, work_.blocks - unit * each);
}

void Builder::gather(const TimedUnit& u) {
  TaskId after = units_.gather_after(tasks_.last_in_lane(out_.compute));
  if (parallel_.offload == Offload::parameters) after = host_copy(out_.from_host, u.fetch, after);
  units_.gathered(travel(u.gather, beside(u.before_gather, after)));
}

// The unit begins to compute: its parameters are there.
void Builder::enter(const TimedUnit& u) {
  wait_for(units_.next_gather());
  units_.entered(compute(u.copy_out));
}

void Builder::scatter(const TimedUnit& u) {
  if (units_.last_scatter) wait_for(*units_.last_scatter);
  const TaskId copied = compute(u.copy_in);
  TaskId done = beside(u.after_scatter, travel(u.scatter, copied));
  if (u.replicate.kernel > 0 || u.replicate.issue > 0) done = travel(u.replicate, done);
  units_.last_scatter = done;
  if (updates_on_host(parallel_.offload)) host_copy(out_.to_host, u.drain, done);
}

// The hook before a unit issues its gather; the stream takes it as soon as the unit before
// computes.
void Builder::sharded_forward() {
  units_.begin_phase(tasks_.last_in_lane(out_.compute));
  stashed_.clear();
  gather(timed_.units.root);
  enter(timed_.units.root);
  operators(timed_.embedding.forward, timed_.embedding.forward_exchanges);
  for (std::int64_t u = 0; u < timed_.units.count; ++u) {
    gather(unit(u));
    enter(unit(u));
    for (std::int64_t i = 0; i < blocks_of(u); ++i) block_forward(u * parallel_.unit_layers + i);
  }
  operators(timed_.head.forward, timed_.head.forward_exchanges);
}

// Backward asks for the units ahead as soon as one has its parameters.
void Builder::sharded_backward(bool sync, bool accumulate) {
  next_tensor_ = 0;
  units_.last_scatter.reset();
  units_.begin_phase(tasks_.last_in_lane(out_.compute));
  const bool again = parallel_.reshard_after_forward;
  std::int64_t next = timed_.units.count - 1;
  const auto ask = [&](std::int64_t until) {
    for (; again && next >= std::max<std::int64_t>(until, 0); --next) gather(unit(next));
  };
  restored_.clear();
  restore(work_.blocks - 1);
  ask(timed_.units.count - parallel_.prefetch);
  backward(timed_.head, sync, accumulate);
  for (std::int64_t u = timed_.units.count - 1; u >= 0; --u) {
    ask(u);
    if (again) enter(unit(u));
    ask(u - parallel_.prefetch);
    for (std::int64_t i = blocks_of(u) - 1; i >= 0; --i) {
      block_backward(u * parallel_.unit_layers + i, sync, accumulate);
    }
    if (sync) scatter(unit(u));
  }
  backward(timed_.embedding, sync, accumulate);
  if (sync) scatter(timed_.units.root);
}

// The host's CPUs update once the last gradient has come; the card waits for what it gets back.
void Builder::host_update() {
  const Timed& update = timed_.host_update;
  TaskId done =
      tasks_.add({out_.host, update.kernel, update.label, 0}, {tasks_.last_in_lane(out_.to_host)});
  if (timed_.updated_to_card.issue > 0 || timed_.updated_to_card.kernel > 0) {
    done = host_copy(out_.from_host, timed_.updated_to_card, done);
  }
  if (timed_.gather_updated.kernel > 0 || timed_.gather_updated.issue > 0) {
    done = travel(timed_.gather_updated, done);
  }
  out_.step_end.push_back(tasks_.add({out_.compute, 0, update.label, 0}, {done}));
}

void Builder::optimizer() {
  const Timed& update = timed_.optimizer;
  if (timed_.partial_gradients.kernel > 0) {
    wait_for(exchange({timed_.partial_gradients, 0, 0, false}));
    compute({0, 0, timed_.partial_gradients.label});
  }
  if (updates_on_host(parallel_.offload)) return host_update();
  // A loop that reads each gradient's norm back waits for the GPU tensor by tensor: its issue and
  // its kernels take turns, after everything before.
  const TaskId issued =
      work_.optimizer_waits
          ? tasks_.add({out_.host, update.issue, update.label, 0},
                       {tasks_.last_in_lane(any_sent_ ? out_.communication : out_.compute)})
          : issue(update);
  const TaskSpec spec{out_.compute, update.kernel, update.label, class_of(update)};
  TaskId done = any_sent_ ? tasks_.add(spec, {issued, tasks_.last_in_lane(out_.communication)})
                          : tasks_.add(spec, {issued});
  if (timed_.gather_updated.kernel > 0 || timed_.gather_updated.issue > 0) {
    const TaskId gathered = travel(timed_.gather_updated, done);
    done = tasks_.add({out_.compute, 0, update.label, class_of(update)}, {gathered});
  }
  out_.step_end.push_back(done);
}

void Builder::step() {
  out_.step_begin.push_back(compute(timed_.begin));
  const std::int64_t micro_steps = scenario_.training.accumulation;
  for (std::int64_t i = 0; i < micro_steps; ++i) {
    const bool adds = i > 0 || scenario_.training.precision.wide_sums;
    const bool last = i + 1 == micro_steps;
    const bool sync = exchanges_ ? last || parallel_.sync_each_micro_step
                                 : last && updates_on_host(parallel_.offload);
    if (sharded()) {
      sharded_forward();
      sharded_backward(sync, adds);
    } else {
      forward();
      backward(sync, adds);
    }
  }
  optimizer();
}

StepProgram Builder::build(int repeats) {
  static_cast<StepTotals&>(out_) = timed_;
  out_.buckets = static_cast<std::uint32_t>(timed_.buckets.size());
  out_.host = tasks_.add_lane({LaneClass::host, 0});
  out_.compute = tasks_.add_lane({LaneClass::compute, 0});
  out_.communication = tasks_.add_lane({loopback_ ? LaneClass::copy : LaneClass::communication, 0});
  out_.exchange = tasks_.add_lane({LaneClass::communication, 0});
  if (parallel_.offload != Offload::none) {
    out_.to_host = tasks_.add_lane({LaneClass::copy, 0});
    out_.from_host = tasks_.add_lane({LaneClass::copy, 0});
  }
  for (int i = 0; i < repeats; ++i) {
    step();
    if (i == 0) {
      const std::size_t each = tasks_.task_count();
      tasks_.reserve(each * static_cast<std::size_t>(repeats),
                     2 * each * static_cast<std::size_t>(repeats));
    }
  }
  out_.program = tasks_.build();
  return std::move(out_);
}

}  // namespace

Machine step_machine(const GpuProfile& gpu, const Without& without) {
  Machine machine;
  if (without.slow_down) return machine;
  constexpr double shared = 0.5;
  for (const RoundsClass& c : rounds_classes) {
    machine.slow_down[c.id][collective_class] =
        rate_beside_collective(c.stands_for, gpu.overlap.compute_under_collective);
    machine.slow_down[collective_class][c.id] = gpu.overlap.collective_under_compute;
    machine.slow_down[c.id][copy_class] = gpu.overlap.compute_under_copy;
    machine.slow_down[copy_class][c.id] = gpu.overlap.copy_under_compute;
    machine.slow_down[c.id][beside_class] = machine.slow_down[beside_class][c.id] = shared;
  }
  machine.slow_down[memory_class][beside_class] = machine.slow_down[beside_class][memory_class] =
      shared;
  machine.slow_down[memory_class][collective_class] = gpu.overlap.memory_under_collective;
  machine.slow_down[collective_class][memory_class] = gpu.overlap.collective_under_memory;
  machine.slow_down[memory_class][copy_class] = gpu.overlap.compute_under_copy;
  machine.slow_down[copy_class][memory_class] = gpu.overlap.copy_under_compute;
  return machine;
}

StepProgram build_step(const StepParts& parts,
                       const TimedStep& timed,
                       const Without& without,
                       int repeats) {
  if (repeats < 2) throw std::logic_error("build_step: a steady step needs one before it");
  StepProgram out = Builder(parts, timed).build(repeats);
  out.machine = step_machine(parts.gpu, without);
  return out;
}

StepProgram build_step(const StepParts& parts, const Without& without, int repeats) {
  return build_step(parts, time_step(parts, without), without, repeats);
}

}  // namespace stepsight
