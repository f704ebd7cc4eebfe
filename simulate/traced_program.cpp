#include "simulate/traced_program.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "model/cost.h"
#include "model/errors.h"
#include "model/traced_units.h"
#include "simulate/gradient_buckets.h"
#include "simulate/predict.h"

namespace stepsight {

namespace {

// Rows of step_machine()'s slow-down matrix.
constexpr std::uint8_t compute_class = 1;
constexpr std::uint8_t collective_class = 2;
constexpr std::uint8_t copy_class = 3;

WorkKind work_kind(const TracedKernel& k) {
  if (k.part == StepPart::optimizer) return WorkKind::optimizer;
  if (k.kind == KernelKind::product) return WorkKind::gemm;
  return k.kind == KernelKind::attention ? WorkKind::attention : WorkKind::memory;
}

Phase phase_of(StepPart part) {
  switch (part) {
    case StepPart::forward: return Phase::forward;
    case StepPart::backward: return Phase::backward;
    case StepPart::optimizer: return Phase::optimizer;
  }
  return Phase::forward;
}

class Builder {
 public:
  Builder(const TracedParts& parts, const Without& without)
      : step_(parts.step),
        costs_(parts.costs),
        scenario_(parts.scenario),
        gpu_(parts.gpu),
        links_(parts.links),
        without_(without),
        buckets_travel_(links_.gradients.kind != Link::Kind::none && !without.sync_copies),
        shards_(links_.gather.kind != Link::Kind::none && !without.sync_copies) {}
  StepProgram build(int repeats);

 private:
  std::uint32_t label(std::string_view text, Phase phase, WorkKind kind);
  [[nodiscard]] double share_of(double seconds, double ranks) const;
  void time_kernels();
  void time_gradients();
  void time_buckets();
  TaskId compute(const Timed& op, bool host_waits);
  void gradient_ready(std::size_t i);
  void send_bucket(TaskId last_copy);
  TaskId travel(const Timed& message, TaskId after);
  [[nodiscard]] bool loopback() const { return links_.gradients.kind == Link::Kind::loopback; }

  void time_units();
  TimedUnit timed_unit(double elements, double gathers);
  Timed message(const Link& link, double bytes, std::string_view text, double times, double us);
  Timed copy(double elements, std::string_view text, double times);
  void begin_phase();
  void gather(const TimedUnit& unit);
  void enter(const TimedUnit& unit);
  void scatter(const TimedUnit& unit);
  void ask(std::size_t until);
  void before_kernel(std::size_t i);
  void end_backward();
  void one_step();

  const TracedStep& step_;
  const TracedCosts& costs_;
  const Scenario& scenario_;
  const GpuProfile& gpu_;
  const TracedLinks& links_;
  const Without& without_;
  bool buckets_travel_;  // DDP
  bool shards_;          // FSDP

  StepProgram out_;
  ProgramBuilder tasks_;
  std::vector<Timed> kernels_;
  std::vector<Timed> copies_;  // one a gradient
  std::vector<Bucket> buckets_;
  std::vector<Timed> bucket_;
  Picoseconds tail_ = 0;
  std::uint32_t join_label_ = 0;
  std::uint32_t tail_label_ = 0;
  std::size_t next_bucket_ = 0;
  std::vector<TaskId> held_;  // last copies of full buckets that wait for the end of backward
  bool sent_ = false;

  // Units in the order of backward; forward runs them the other way round.
  TracedUnits units_;
  TimedUnit root_;
  std::vector<TimedUnit> unit_;
  std::size_t next_forward_ = 0;   // units that forward has entered
  std::size_t next_backward_ = 0;  // ... backward has entered
  std::size_t asked_ = 0;          // ... backward has asked for
  std::size_t scattered_ = 0;
  std::vector<TaskId> gathered_, entered_;  // of this forward or backward
  TaskId phase_begin_{};
  std::optional<TaskId> awaited_;  // what the next compute task waits for besides its issue
  std::optional<TaskId> last_scatter_;
};

std::uint32_t Builder::label(std::string_view text, Phase phase, WorkKind kind) {
  for (std::size_t i = 0; i < out_.labels.size(); ++i) {
    const TaskLabel& l = out_.labels[i];
    if (l.phase == phase && l.kind == kind && l.text == text) return static_cast<std::uint32_t>(i);
  }
  out_.labels.push_back({text, phase, kind});
  return static_cast<std::uint32_t>(out_.labels.size() - 1);
}

// A rank's part of an update: the kernel's start stays.
double Builder::share_of(double seconds, double ranks) const {
  const auto& p = gpu_.pass[static_cast<std::size_t>(PassKind::copy)];
  const double start = std::min(seconds, p.overhead_us * 1e-6);
  return start + (seconds - start) / ranks;
}

void Builder::time_kernels() {
  const double gap = gpu_.launch.stream_gap_us * 1e-6;
  kernels_.reserve(step_.kernels.size());
  for (std::size_t i = 0; i < step_.kernels.size(); ++i) {
    const TracedKernel& k = step_.kernels[i];
    double alone = costs_.kernel_seconds[i];
    if (shards_ && i >= step_.backward_end) {
      alone = share_of(alone, static_cast<double>(scenario_.cluster.gpus));
    }
    const double seconds = alone > 0 ? alone + gap : 0;
    const double issue = k.issue_seconds * costs_.issue_scale[static_cast<std::size_t>(k.part)];
    const WorkKind kind = work_kind(k);
    kernels_.push_back({to_picoseconds(Seconds{seconds}),
                        to_picoseconds(Seconds{issue}),
                        label(name_of(kind), phase_of(k.part), kind)});
    out_.kernel_seconds[static_cast<std::size_t>(kind)] += seconds;
    out_.host_seconds += issue;
  }
  const double tail =
      step_.tail_seconds * costs_.issue_scale[static_cast<std::size_t>(StepPart::optimizer)];
  tail_ = to_picoseconds(Seconds{tail});
  out_.host_seconds += tail;
  out_.unmeasured_seconds += costs_.unmeasured_seconds;
  join_label_ = label("end of backward", Phase::gradient_sync, WorkKind::sync_copy);
  tail_label_ = label("step", Phase::optimizer, WorkKind::optimizer);
}

void Builder::time_gradients() {
  const double gap = gpu_.launch.stream_gap_us * 1e-6;
  const std::uint32_t name = label("copy into bucket", Phase::gradient_sync, WorkKind::sync_copy);
  const double issue = gpu_.host.bucket_tensor_us * 1e-6;
  for (const TracedGradient& g : step_.gradients) {
    const Cost c = cost(Pass{PassKind::copy, 1, g.elements, step_.gradient_dtype}, gpu_);
    const double seconds = c.time.value + gap;
    copies_.push_back({to_picoseconds(Seconds{seconds}), to_picoseconds(Seconds{issue}), name});
    out_.kernel_seconds[static_cast<std::size_t>(WorkKind::sync_copy)] += seconds;
    out_.host_seconds += issue;
    if (!c.measured) out_.unmeasured_seconds += c.time.value;
  }
}

void Builder::time_buckets() {
  const Dtype dtype = scenario_.training.gradient_dtype.value_or(step_.gradient_dtype);
  std::vector<double> sizes;
  for (const TracedGradient& g : step_.gradients) {
    sizes.push_back(static_cast<double>(g.elements) * info(dtype).bytes);
  }
  constexpr double mebibyte = 1024.0 * 1024.0;
  buckets_ = gradient_buckets(
      sizes,
      {scenario_.parallel.first_bucket_MB * mebibyte, scenario_.parallel.bucket_cap_MB * mebibyte});
  const std::uint32_t name = label("bucket", Phase::gradient_sync, WorkKind::communication);
  const double issue = gpu_.host.collective_us * 1e-6;
  for (const Bucket& bucket : buckets_) {
    const LinkCost c = message_time(links_.gradients, gpu_, Bytes{bucket.bytes});
    const Seconds time = without_.communication ? Seconds{0} : c.time;
    bucket_.push_back({to_picoseconds(time), to_picoseconds(Seconds{issue}), name});
    out_.kernel_seconds[static_cast<std::size_t>(WorkKind::communication)] += time.value;
    out_.host_seconds += issue;
    if (!c.measured) out_.unmeasured_seconds += time.value;
    out_.message_bytes += bucket.bytes;
  }
  out_.buckets = static_cast<std::uint32_t>(buckets_.size());
}

// A host that waited for the GPU goes on once everything before is done.
TaskId Builder::compute(const Timed& op, bool host_waits) {
  const bool waits = host_waits && !out_.step_begin.empty();
  const TaskId issued =
      waits ? tasks_.add({out_.host, op.issue, op.label, 0}, {tasks_.last_in_lane(out_.compute)})
            : tasks_.add({out_.host, op.issue, op.label, 0});
  const TaskSpec spec{out_.compute, op.kernel, op.label, compute_class};
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
                     loopback() ? copy_class : collective_class},
                    {issued, after});
}

void Builder::send_bucket(TaskId last_copy) {
  const Timed& bucket = bucket_[next_bucket_++];
  travel(bucket, last_copy);
}

void Builder::gradient_ready(std::size_t i) {
  const TaskId copied = compute(copies_[i], false);
  const Bucket& bucket = buckets_[next_bucket_ + held_.size()];
  if (i + 1 != bucket.first_tensor + bucket.tensors) return;
  if (scenario_.parallel.overlap) {
    send_bucket(copied);
  } else {
    held_.push_back(copied);
  }
}

// What comes after backward waits for all messages.
void Builder::end_backward() {
  if (!buckets_travel_ && !shards_) return;
  if (shards_) {
    before_kernel(step_.backward_end);
    if (units_.root_elements > 0) scatter(root_);
  }
  const std::vector<TaskId> held = std::move(held_);
  held_.clear();
  for (std::size_t i = 0; i < held.size(); ++i) send_bucket(held.back());
  if (sent_) {
    tasks_.add({out_.compute, 0, join_label_, 0}, {tasks_.last_in_lane(out_.communication)});
  }
}

Timed Builder::message(
    const Link& link, double bytes, std::string_view text, double times, double us) {
  const LinkCost c = message_time(link, gpu_, Bytes{bytes});
  const Seconds time = without_.communication ? Seconds{0} : c.time;
  out_.kernel_seconds[static_cast<std::size_t>(WorkKind::communication)] += times * time.value;
  out_.host_seconds += times * us * 1e-6;
  if (!c.measured) out_.unmeasured_seconds += times * time.value;
  out_.message_bytes += times * bytes;
  return {to_picoseconds(time),
          to_picoseconds(Seconds{us * 1e-6}),
          label(text, Phase::gradient_sync, WorkKind::communication)};
}

// Issued with its message, whose issue counts both.
Timed Builder::copy(double elements, std::string_view text, double times) {
  const Pass pass{PassKind::copy,
                  1,
                  std::max<std::int64_t>(1, static_cast<std::int64_t>(elements)),
                  step_.gradient_dtype};
  const Cost c = cost(pass, gpu_);
  const double seconds = c.time.value + gpu_.launch.stream_gap_us * 1e-6;
  out_.kernel_seconds[static_cast<std::size_t>(WorkKind::sync_copy)] += times * seconds;
  if (!c.measured) out_.unmeasured_seconds += times * c.time.value;
  return {to_picoseconds(Seconds{seconds}), 0,
          label(text, Phase::gradient_sync, WorkKind::sync_copy)};
}

TimedUnit Builder::timed_unit(double elements, double gathers) {
  const Dtype held = step_.gradient_dtype;
  const Dtype reduced = scenario_.training.gradient_dtype.value_or(held);
  TimedUnit out;
  out.gather = message(links_.gather,
                       elements * info(held).bytes,
                       "gather parameters",
                       gathers,
                       gpu_.host.gather_unit_us);
  out.copy_out = copy(elements, "parameters from gathered", gathers);
  out.copy_in = copy(elements, "gradients to scatter", 1);
  out.scatter = message(links_.scatter,
                        elements * info(reduced).bytes,
                        "scatter gradients",
                        1,
                        gpu_.host.scatter_unit_us);
  ++out_.buckets;
  return out;
}

void Builder::time_units() {
  if (step_.micro_steps > 1) {
    throw UserError(step_.file + ": is a step of " + std::to_string(step_.micro_steps) +
                    " micro-steps; with FSDP a trace of a single one is needed");
  }
  units_ = traced_units(step_, scenario_.parallel.unit_layers);
  // The root stays gathered from the first kernel to the last of backward.
  if (units_.root_elements > 0) {
    root_ = timed_unit(static_cast<double>(units_.root_elements), 1);
  }
  const double gathers = scenario_.parallel.reshard_after_forward ? 2 : 1;
  for (const TracedUnit& u : units_.units) {
    unit_.push_back(timed_unit(static_cast<double>(u.elements), gathers));
  }
}

void Builder::begin_phase() {
  gathered_.clear();
  entered_.clear();
  phase_begin_ = tasks_.last_in_lane(out_.compute);
}

// As simulate/step_program.cpp: once the unit `prefetch` places before it begins to compute.
void Builder::gather(const TimedUnit& unit) {
  const std::size_t place = gathered_.size();
  const auto ahead = static_cast<std::size_t>(scenario_.parallel.prefetch);
  TaskId after = tasks_.last_in_lane(out_.compute);
  if (ahead > 0) after = place >= ahead ? entered_[place - ahead] : phase_begin_;
  gathered_.push_back(travel(unit.gather, after));
}

void Builder::enter(const TimedUnit& unit) {
  awaited_ = gathered_[entered_.size()];
  entered_.push_back(compute(unit.copy_out, false));
}

// One buffer: it is free when the scatter before is done.
void Builder::scatter(const TimedUnit& unit) {
  if (last_scatter_) awaited_ = *last_scatter_;
  last_scatter_ = travel(unit.scatter, compute(unit.copy_in, false));
}

// Asks in backward for every unit before the `until`-th.
void Builder::ask(std::size_t until) {
  if (!scenario_.parallel.reshard_after_forward) return;
  for (; asked_ < std::min(until, unit_.size()); ++asked_) gather(unit_[asked_]);
}

// What FSDP's hooks do before the i-th kernel.
void Builder::before_kernel(std::size_t i) {
  const std::size_t count = unit_.size();
  const auto prefetch = static_cast<std::size_t>(scenario_.parallel.prefetch);
  if (i == step_.forward_begin) {
    begin_phase();
    if (units_.root_elements > 0) {
      gather(root_);
      enter(root_);
    }
  }
  for (; next_forward_ < count &&
         units_.units[count - 1 - next_forward_].forward_begin <= i;
       ++next_forward_) {
    gather(unit_[count - 1 - next_forward_]);
    enter(unit_[count - 1 - next_forward_]);
  }
  if (i == step_.backward_begin) {
    begin_phase();
    ask(prefetch);
  }
  if (i < step_.backward_begin) return;
  while (true) {
    const bool done = scattered_ < next_backward_ && units_.units[scattered_].backward_end <= i;
    if (done) {
      scatter(unit_[scattered_++]);
      continue;
    }
    if (next_backward_ >= count || units_.units[next_backward_].backward_begin > i) break;
    ask(next_backward_ + 1);
    if (scenario_.parallel.reshard_after_forward) enter(unit_[next_backward_]);
    ++next_backward_;
    ask(next_backward_ + prefetch);
  }
}

void Builder::one_step() {
  next_bucket_ = 0;
  next_forward_ = next_backward_ = asked_ = scattered_ = 0;
  last_scatter_.reset();
  awaited_.reset();
  std::size_t gradient = 0;
  const std::size_t gradients = buckets_travel_ ? step_.gradients.size() : 0;
  const auto ready = [&](std::size_t kernels) {
    for (; gradient < gradients && step_.gradients[gradient].after <= kernels; ++gradient) {
      gradient_ready(gradient);
    }
  };
  bool first = true;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (first) out_.step_begin.push_back(tasks_.add({out_.compute, 0, join_label_, 0}));
    first = false;
    if (shards_ && i < step_.backward_end) before_kernel(i);
    if (i == step_.backward_end) end_backward();
    compute(kernels_[i], step_.kernels[i].host_waits);
    ready(i + 1);
  }
  if (step_.backward_end >= kernels_.size()) end_backward();
  const TaskId last = tasks_.last_in_lane(out_.compute);
  if (step_.tail_waits) {
    tasks_.add({out_.host, tail_, tail_label_, 0}, {last});
  } else {
    tasks_.add({out_.host, tail_, tail_label_, 0});
  }
  out_.step_end.push_back(last);
}

StepProgram Builder::build(int repeats) {
  time_kernels();
  if (buckets_travel_) {
    time_gradients();
    time_buckets();
  }
  if (shards_) time_units();
  out_.host = tasks_.add_lane({LaneClass::host, 0});
  out_.compute = tasks_.add_lane({LaneClass::compute, 0});
  out_.communication = tasks_.add_lane(
      {loopback() ? LaneClass::copy : LaneClass::communication, 0});
  for (int i = 0; i < repeats; ++i) one_step();
  out_.program = tasks_.build();
  out_.machine = step_machine(gpu_, without_);
  return std::move(out_);
}

}  // namespace

TracedLinks resolve_traced_links(const GpuProfile& gpu, const Scenario& scenario) {
  const Strategy strategy = scenario.parallel.strategy;
  TracedLinks out;
  if (strategy == Strategy::ddp) {
    out.gradients = resolve_link(gpu, scenario.cluster);
  } else if (shards_parameters(strategy) && scenario.cluster.gpus > 1) {
    const auto of = [&](CollectiveKind kind) {
      return resolve_collective(
          gpu, scenario.cluster, {kind, scenario.cluster.gpus, scenario.cluster.nodes});
    };
    out.gather = of(CollectiveKind::all_gather);
    out.scatter = of(CollectiveKind::reduce_scatter);
  }
  return out;
}

StepProgram build_traced_step(const TracedParts& parts, const Without& without, int repeats) {
  if (repeats < 2) throw std::logic_error("build_traced_step: a steady step needs one before it");
  if (parts.costs.kernel_seconds.size() != parts.step.kernels.size()) {
    throw std::logic_error("build_traced_step: the costs are of another step");
  }
  return Builder(parts, without).build(repeats);
}

}  // namespace stepsight
