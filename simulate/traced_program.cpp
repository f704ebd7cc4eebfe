#include "simulate/traced_program.h"

#include <algorithm>
#include <stdexcept>

#include "model/cost.h"
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
        link_(parts.link),
        without_(without),
        syncs_(link_.kind != Link::Kind::none && scenario_.parallel.strategy == Strategy::ddp &&
               !without.sync_copies) {}
  StepProgram build(int repeats);

 private:
  std::uint32_t label(std::string_view text, Phase phase, WorkKind kind);
  void time_kernels();
  void time_gradients();
  void time_buckets();
  TaskId compute(const Timed& op, bool host_waits);
  void gradient_ready(std::size_t i);
  void send_bucket(TaskId last_copy);
  void end_backward();
  void one_step();

  const TracedStep& step_;
  const TracedCosts& costs_;
  const Scenario& scenario_;
  const GpuProfile& gpu_;
  const Link& link_;
  const Without& without_;
  bool syncs_;

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
};

std::uint32_t Builder::label(std::string_view text, Phase phase, WorkKind kind) {
  for (std::size_t i = 0; i < out_.labels.size(); ++i) {
    const TaskLabel& l = out_.labels[i];
    if (l.phase == phase && l.kind == kind && l.text == text) return static_cast<std::uint32_t>(i);
  }
  out_.labels.push_back({text, phase, kind});
  return static_cast<std::uint32_t>(out_.labels.size() - 1);
}

void Builder::time_kernels() {
  const double gap = gpu_.launch.stream_gap_us * 1e-6;
  kernels_.reserve(step_.kernels.size());
  for (std::size_t i = 0; i < step_.kernels.size(); ++i) {
    const TracedKernel& k = step_.kernels[i];
    const double alone = costs_.kernel_seconds[i];
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
    const LinkCost c = message_time(link_, gpu_, Bytes{bucket.bytes});
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
  const TaskId done = tasks_.add({out_.compute, op.kernel, op.label, compute_class}, {issued});
  return done;
}

void Builder::send_bucket(TaskId last_copy) {
  const Timed& bucket = bucket_[next_bucket_++];
  const std::uint8_t interference =
      link_.kind == Link::Kind::loopback ? copy_class : collective_class;
  const TaskId issued = tasks_.add({out_.host, bucket.issue, bucket.label, 0});
  tasks_.add({out_.communication, bucket.kernel, bucket.label, interference}, {issued, last_copy});
  sent_ = true;
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

// What comes after backward waits for all buckets.
void Builder::end_backward() {
  if (!syncs_) return;
  const std::vector<TaskId> held = std::move(held_);
  held_.clear();
  for (std::size_t i = 0; i < held.size(); ++i) send_bucket(held.back());
  if (sent_) {
    tasks_.add({out_.compute, 0, join_label_, 0}, {tasks_.last_in_lane(out_.communication)});
  }
}

void Builder::one_step() {
  next_bucket_ = 0;
  std::size_t gradient = 0;
  const std::size_t gradients = syncs_ ? step_.gradients.size() : 0;
  const auto ready = [&](std::size_t kernels) {
    for (; gradient < gradients && step_.gradients[gradient].after <= kernels; ++gradient) {
      gradient_ready(gradient);
    }
  };
  bool first = true;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (i == step_.backward_end) end_backward();
    const TaskId done = compute(kernels_[i], step_.kernels[i].host_waits);
    if (first) out_.step_begin.push_back(done);
    first = false;
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
  if (syncs_) {
    time_gradients();
    time_buckets();
  }
  out_.host = tasks_.add_lane({LaneClass::host, 0});
  out_.compute = tasks_.add_lane({LaneClass::compute, 0});
  out_.communication = tasks_.add_lane(
      {link_.kind == Link::Kind::loopback ? LaneClass::copy : LaneClass::communication, 0});
  for (int i = 0; i < repeats; ++i) one_step();
  out_.program = tasks_.build();
  out_.machine = step_machine(gpu_, without_);
  return std::move(out_);
}

}  // namespace

StepProgram build_traced_step(const TracedParts& parts, const Without& without, int repeats) {
  if (repeats < 2) throw std::logic_error("build_traced_step: a steady step needs one before it");
  if (parts.costs.kernel_seconds.size() != parts.step.kernels.size()) {
    throw std::logic_error("build_traced_step: the costs are of another step");
  }
  return Builder(parts, without).build(repeats);
}

}  // namespace stepsight
