#include "simulate/traced_program.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "simulate/unit_queue.h"

namespace stepsight {

namespace {

class Builder {
 public:
  Builder(const TracedParts& parts, const TimedTrace& timed)
      : step_(parts.step),
        parallel_(parts.scenario.parallel),
        timed_(timed),
        loopback_(parts.links.gradients.kind == Link::Kind::loopback) {}
  StepProgram build(int repeats);

 private:
  TaskId compute(const Timed& op, bool host_waits);
  TaskId travel(const Timed& message, TaskId after);
  void gradient_ready(std::size_t i);
  void send_bucket(TaskId last_copy);
  void gather(const TimedUnit& unit);
  void enter(const TimedUnit& unit);
  void scatter(const TimedUnit& unit);
  void ask(std::size_t until);
  void before_kernel(std::size_t i);
  void end_backward();
  void one_step();

  const TracedStep& step_;
  const Parallel& parallel_;
  const TimedTrace& timed_;
  bool loopback_;

  StepProgram out_;
  ProgramBuilder tasks_;
  std::size_t next_bucket_ = 0;
  std::vector<TaskId> held_;  // last copies of full buckets that wait for the end of backward
  bool sent_ = false;

  // Units in the order of backward; forward runs them the other way round.
  std::size_t next_forward_ = 0;   // units that forward has entered
  std::size_t next_backward_ = 0;  // ... backward has entered
  std::size_t asked_ = 0;          // ... backward has asked for
  std::size_t scattered_ = 0;
  std::optional<TaskId> awaited_;  // what the next compute task waits for besides its issue
  UnitQueue units_{parallel_.prefetch};
};

// A host that waited for the GPU goes on once everything before is done.
TaskId Builder::compute(const Timed& op, bool host_waits) {
  const bool waits = host_waits && !out_.step_begin.empty();
  const TaskId issued =
      waits ? tasks_.add({out_.host, op.issue, op.label, 0}, {tasks_.last_in_lane(out_.compute)})
            : tasks_.add({out_.host, op.issue, op.label, 0});
  const TaskSpec spec{out_.compute, op.kernel, op.label, class_of(op)};
  if (!awaited_) return tasks_.add(spec, {issued});
  const TaskId done = tasks_.add(spec, {issued, *awaited_});
  awaited_.reset();
  return done;
}

TaskId Builder::travel(const Timed& message, TaskId after) {
  const TaskId issued = tasks_.add({out_.host, message.issue, message.label, 0});
  sent_ = true;
  return tasks_.add({out_.communication,
                     message.kernel,
                     message.label,
                     loopback_ ? copy_class : collective_class},
                    {issued, after});
}

void Builder::send_bucket(TaskId last_copy) {
  const Timed& bucket = timed_.bucket[next_bucket_++];
  travel(bucket, last_copy);
}

void Builder::gradient_ready(std::size_t i) {
  const TaskId copied = compute(timed_.copies[i], false);
  const Bucket& bucket = timed_.buckets[next_bucket_ + held_.size()];
  if (i != bucket.last_tensor) return;
  if (parallel_.overlap) {
    send_bucket(copied);
  } else {
    held_.push_back(copied);
  }
}

// What comes after backward waits for all messages.
void Builder::end_backward() {
  if (!timed_.replicated && !timed_.sharded) return;
  if (timed_.sharded) {
    before_kernel(step_.backward_end);
    if (timed_.units.root_elements > 0) scatter(timed_.root);
  }
  const std::vector<TaskId> held = std::move(held_);
  held_.clear();
  for (std::size_t i = 0; i < held.size(); ++i) send_bucket(held.back());
  if (sent_) {
    tasks_.add({out_.compute, 0, timed_.join_label, 0}, {tasks_.last_in_lane(out_.communication)});
  }
}

void Builder::gather(const TimedUnit& unit) {
  units_.gathered(travel(unit.gather, units_.gather_after(tasks_.last_in_lane(out_.compute))));
}

void Builder::enter(const TimedUnit& unit) {
  awaited_ = units_.next_gather();
  units_.entered(compute(unit.copy_out, false));
}

void Builder::scatter(const TimedUnit& unit) {
  if (units_.last_scatter) awaited_ = *units_.last_scatter;
  units_.last_scatter = travel(unit.scatter, compute(unit.copy_in, false));
}

// Asks in backward for every unit before the `until`-th.
void Builder::ask(std::size_t until) {
  if (!parallel_.reshard_after_forward) return;
  for (; asked_ < std::min(until, timed_.unit.size()); ++asked_) gather(timed_.unit[asked_]);
}

// What FSDP's hooks do before the i-th kernel.
void Builder::before_kernel(std::size_t i) {
  const std::size_t count = timed_.unit.size();
  const auto prefetch = static_cast<std::size_t>(parallel_.prefetch);
  if (i == step_.forward_begin) {
    units_.begin_phase(tasks_.last_in_lane(out_.compute));
    if (timed_.units.root_elements > 0) {
      gather(timed_.root);
      enter(timed_.root);
    }
  }
  for (; next_forward_ < count && timed_.units.units[count - 1 - next_forward_].forward_begin <= i;
       ++next_forward_) {
    gather(timed_.unit[count - 1 - next_forward_]);
    enter(timed_.unit[count - 1 - next_forward_]);
  }
  if (i == step_.backward_begin) {
    units_.begin_phase(tasks_.last_in_lane(out_.compute));
    ask(prefetch);
  }
  if (i < step_.backward_begin) return;
  while (true) {
    const bool done =
        scattered_ < next_backward_ && timed_.units.units[scattered_].backward_end <= i;
    if (done) {
      scatter(timed_.unit[scattered_++]);
      continue;
    }
    if (next_backward_ >= count || timed_.units.units[next_backward_].backward_begin > i) break;
    ask(next_backward_ + 1);
    if (parallel_.reshard_after_forward) enter(timed_.unit[next_backward_]);
    ++next_backward_;
    ask(next_backward_ + prefetch);
  }
}

void Builder::one_step() {
  next_bucket_ = 0;
  next_forward_ = next_backward_ = asked_ = scattered_ = 0;
  units_.last_scatter.reset();
  awaited_.reset();
  std::size_t gradient = 0;
  const std::size_t gradients = timed_.replicated ? step_.gradients.size() : 0;
  const auto ready = [&](std::size_t kernels) {
    for (; gradient < gradients && step_.gradients[gradient].after <= kernels; ++gradient) {
      gradient_ready(gradient);
    }
  };
  bool first = true;
  for (std::size_t i = 0; i < timed_.kernels.size(); ++i) {
    if (first) out_.step_begin.push_back(tasks_.add({out_.compute, 0, timed_.join_label, 0}));
    first = false;
    if (timed_.sharded && i < step_.backward_end) before_kernel(i);
    if (i == step_.backward_end) end_backward();
    compute(timed_.kernels[i], step_.kernels[i].host_waits);
    ready(i + 1);
  }
  if (step_.backward_end >= timed_.kernels.size()) end_backward();
  const TaskId last = tasks_.last_in_lane(out_.compute);
  if (step_.tail_waits) {
    tasks_.add({out_.host, timed_.tail, timed_.tail_label, 0}, {last});
  } else {
    tasks_.add({out_.host, timed_.tail, timed_.tail_label, 0});
  }
  out_.step_end.push_back(last);
}

StepProgram Builder::build(int repeats) {
  static_cast<StepTotals&>(out_) = timed_;
  const std::size_t units = timed_.unit.size() + (timed_.units.root_elements > 0 ? 1 : 0);
  out_.buckets = static_cast<std::uint32_t>(timed_.sharded ? units : timed_.buckets.size());
  out_.host = tasks_.add_lane({LaneClass::host, 0});
  out_.compute = tasks_.add_lane({LaneClass::compute, 0});
  out_.communication = tasks_.add_lane({loopback_ ? LaneClass::copy : LaneClass::communication, 0});
  for (int i = 0; i < repeats; ++i) one_step();
  out_.program = tasks_.build();
  return std::move(out_);
}

}  // namespace

StepProgram build_traced_step(const TracedParts& parts, const Without& without, int repeats) {
  if (repeats < 2) throw std::logic_error("build_traced_step: a steady step needs one before it");
  if (parts.costs.kernel_seconds.size() != parts.step.kernels.size()) {
    throw std::logic_error("build_traced_step: the costs are of another step");
  }
  const TimedTrace timed = time_trace(parts, without);
  StepProgram out = Builder(parts, timed).build(repeats);
  out.machine = step_machine(parts.gpu, without);
  return out;
}

}  // namespace stepsight
