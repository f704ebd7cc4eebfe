#include "simulate/step_program.h"

#include <algorithm>
#include <stdexcept>
#include <variant>

#include "model/host_issue.h"
#include "model/power.h"
#include "simulate/gradient_buckets.h"

namespace stepsight {

namespace {

// Interference classes of the slow-down matrix.
constexpr std::uint8_t compute_class = 1;
constexpr std::uint8_t collective_class = 2;
constexpr std::uint8_t copy_class = 3;

// An operator with what it costs on GPU and host.
struct Timed {
  Picoseconds kernel = 0;
  Picoseconds issue = 0;
  std::uint32_t label = 0;
  bool clocked = false;  // takes longer at a lower clock
};

struct TimedStage {
  std::vector<Timed> forward;
  std::vector<Timed> backward;
  std::vector<GradientReady> ready;
  std::vector<Timed> accumulate, copy;  // one a gradient, in the order of `ready`
};

WorkKind kind_of(const Work& work) {
  if (std::holds_alternative<Gemm>(work)) return WorkKind::gemm;
  if (std::holds_alternative<Attention>(work)) return WorkKind::attention;
  return WorkKind::memory;
}

class Builder {
 public:
  Builder(const StepWork& work,
          const StepCosts& costs,
          const Scenario& scenario,
          const GpuProfile& gpu,
          const Link& link,
          const Without& without)
      : work_(work), costs_(costs), scenario_(scenario), gpu_(gpu), link_(link), without_(without) {
    syncs_ = link.kind != Link::Kind::none && scenario.parallel.strategy == Strategy::ddp &&
             !without.sync_copies;
  }

  StepProgram build(int repeats);

 private:
  std::uint32_t label(std::string_view text, Phase phase, WorkKind kind);
  Timed timed(const Operator& op, const Cost& cost, Phase phase, double repeats);
  Timed timed(const Operator& op, const Cost& cost, Phase phase, double repeats, double issue_us);
  TimedStage timed(const StageWork& stage, const StageCosts& costs, double copies);
  void time_everything();
  void book_energy(const Work& work, double repeats);
  void lower_clock();
  void assign_buckets();

  TaskId compute(const Timed& op);
  void forward();
  void backward(bool sync, bool accumulate);
  void backward(const TimedStage& stage, bool sync, bool accumulate);
  void gradient_ready(const TimedStage& stage, std::size_t i, bool sync, bool accumulate);
  void send_bucket(TaskId last_copy);
  void optimizer();
  void step();

  const StepWork& work_;
  const StepCosts& costs_;
  const Scenario& scenario_;
  const GpuProfile& gpu_;
  const Link& link_;
  const Without& without_;
  bool syncs_ = false;

  StepProgram out_;
  StepEnergy energy_;
  ProgramBuilder tasks_;
  TimedStage embedding_, block_, head_;
  Timed step_start_, optimizer_;
  std::vector<Bucket> buckets_;
  std::vector<Timed> bucket_;  // kernel: the time on the link; issue: on the host
  std::size_t next_tensor_ = 0;
  std::size_t next_bucket_ = 0;
  std::vector<TaskId> waiting_;  // last copies of full buckets that wait for backward
  bool any_sent_ = false;
};

std::uint32_t Builder::label(std::string_view text, Phase phase, WorkKind kind) {
  for (std::size_t i = 0; i < out_.labels.size(); ++i) {
    const TaskLabel& l = out_.labels[i];
    if (l.phase == phase && l.kind == kind && l.text == text) return static_cast<std::uint32_t>(i);
  }
  out_.labels.push_back({text, phase, kind});
  return static_cast<std::uint32_t>(out_.labels.size() - 1);
}

// Books an operator's kernel time `repeats` times a step.
Timed Builder::timed(const Operator& op, const Cost& c, Phase phase, double repeats) {
  const IssuePhase side = phase == Phase::forward ? IssuePhase::forward : IssuePhase::backward;
  return timed(
      op, c, phase, repeats, gpu_.host.*issue_cost(op.work, side, scenario_.training.compile));
}

Timed Builder::timed(
    const Operator& op, const Cost& c, Phase phase, double repeats, double issue_us) {
  const WorkKind kind = phase == Phase::gradient_sync ? WorkKind::sync_copy : kind_of(op.work);
  const Seconds kernel =
      c.time + Seconds{kernel_count(op.work) * gpu_.launch.stream_gap_us * 1e-6};
  out_.kernel_seconds[static_cast<std::size_t>(kind)] += repeats * kernel.value;
  (c.clocked ? energy_.clocked_s : energy_.other_s) += repeats * kernel.value;
  out_.host_seconds += repeats * issue_us * 1e-6;
  if (!c.measured) out_.unmeasured_seconds += repeats * c.time.value;
  book_energy(op.work, repeats);
  return {to_picoseconds(kernel),
          to_picoseconds(Seconds{issue_us * 1e-6}),
          label(op.label, phase, kind),
          c.clocked};
}

// FLOP, counted in bf16's energy, and bytes of the step.
void Builder::book_energy(const Work& work, double repeats) {
  if (const auto* gemm = std::get_if<Gemm>(&work)) {
    energy_.flop += repeats * flops(*gemm).value * energy_of_flop(gpu_, gemm->dtype);
    energy_.bytes += repeats * bytes(*gemm).value;
  } else if (const auto* attention = std::get_if<Attention>(&work)) {
    energy_.flop += repeats * flops(*attention).value * energy_of_flop(gpu_, attention->dtype);
  } else {
    energy_.bytes += repeats * bytes(std::get<Pass>(work)).value;
  }
}

// A step that would draw more than the card's limit runs at a lower clock; what instructions bound
// slows with it, what memory bounds does not.
void Builder::lower_clock() {
  energy_.least_s = out_.host_seconds;
  out_.clock = clock_under_limit(energy_, gpu_);
  if (out_.clock >= 1) return;
  const auto slow = [&](std::vector<Timed>& list, double times) {
    for (Timed& t : list) {
      if (!t.clocked) continue;
      const auto longer = static_cast<Picoseconds>(static_cast<double>(t.kernel) / out_.clock);
      out_.kernel_seconds[static_cast<std::size_t>(out_.labels[t.label].kind)] +=
          times * to_seconds(longer - t.kernel).value;
      t.kernel = longer;
    }
  };
  const auto micro_steps = static_cast<double>(scenario_.training.accumulation);
  for (const auto& [stage, copies] : {std::pair{&embedding_, 1.0},
                                      {&block_, static_cast<double>(work_.blocks)},
                                      {&head_, 1.0}}) {
    slow(stage->forward, copies * micro_steps);
    slow(stage->backward, copies * micro_steps);
  }
  std::vector<Timed> last{optimizer_};
  slow(last, 1);
  optimizer_ = last.front();
}

// `copies` of the stage run one after the other in each micro-step.
TimedStage Builder::timed(const StageWork& stage, const StageCosts& costs, double copies) {
  const Training& training = scenario_.training;
  const auto micro_steps = static_cast<double>(training.accumulation);
  const double syncs = scenario_.parallel.sync_each_micro_step ? micro_steps : 1.0;
  TimedStage out;
  out.ready = stage.ready;
  out.forward.reserve(stage.forward.size());
  out.backward.reserve(stage.backward.size());
  for (std::size_t i = 0; i < stage.forward.size(); ++i) {
    out.forward.push_back(
        timed(stage.forward[i], costs.forward[i], Phase::forward, micro_steps * copies));
  }
  for (std::size_t i = 0; i < stage.backward.size(); ++i) {
    out.backward.push_back(
        timed(stage.backward[i], costs.backward[i], Phase::backward, micro_steps * copies));
  }
  for (std::size_t i = 0; i < stage.ready.size(); ++i) {
    if (training.accumulation > 1) {
      const Operator add{accumulate_pass(stage.ready[i], training.precision), "accumulate"};
      out.accumulate.push_back(timed(add,
                                     costs.accumulate[i],
                                     Phase::backward,
                                     (micro_steps - 1) * copies,
                                     gpu_.host.accumulate_us));
    }
    if (syncs_) {
      const Operator copy{bucket_copy_pass(stage.ready[i], training.precision), "copy into bucket"};
      out.copy.push_back(timed(
          copy, costs.copy[i], Phase::gradient_sync, syncs * copies, gpu_.host.bucket_tensor_us));
    }
  }
  return out;
}

// Elements of every gradient tensor in the order in which backward completes them.
std::vector<std::int64_t> ready_elements(const StepWork& work) {
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(work.tensors));
  const auto append = [&](const StageWork& stage) {
    for (const GradientReady& r : stage.ready) out.push_back(r.elements);
  };
  append(work.head);
  for (std::int64_t i = 0; i < work.blocks; ++i) append(work.block);
  append(work.embedding);
  return out;
}

void Builder::assign_buckets() {
  const double width = gradient_bytes(scenario_.training);
  std::vector<double> sizes;
  for (const std::int64_t elements : ready_elements(work_)) {
    sizes.push_back(static_cast<double>(elements) * width);
  }
  constexpr double mebibyte = 1024.0 * 1024.0;
  buckets_ = gradient_buckets(
      sizes,
      {scenario_.parallel.first_bucket_MB * mebibyte, scenario_.parallel.bucket_cap_MB * mebibyte});
  const double syncs = scenario_.parallel.sync_each_micro_step
                           ? static_cast<double>(scenario_.training.accumulation)
                           : 1.0;
  const std::uint32_t name = label("bucket", Phase::gradient_sync, WorkKind::communication);
  for (const Bucket& bucket : buckets_) {
    const LinkCost c = bucket_time(link_, gpu_, Bytes{bucket.bytes});
    const Seconds time = without_.communication ? Seconds{0} : c.time;
    out_.kernel_seconds[static_cast<std::size_t>(WorkKind::communication)] += syncs * time.value;
    out_.host_seconds += syncs * gpu_.host.collective_us * 1e-6;
    if (!c.measured) out_.unmeasured_seconds += syncs * time.value;
    out_.message_bytes += syncs * bucket.bytes;
    bucket_.push_back(
        {to_picoseconds(time), to_picoseconds(Seconds{gpu_.host.collective_us * 1e-6}), name});
  }
  out_.buckets = static_cast<std::uint32_t>(buckets_.size());
}

void Builder::time_everything() {
  embedding_ = timed(work_.embedding, costs_.embedding, 1);
  block_ = timed(work_.block, costs_.block, static_cast<double>(work_.blocks));
  head_ = timed(work_.head, costs_.head, 1);
  if (syncs_) assign_buckets();

  Seconds update;
  bool clocked = false;
  for (const Cost& c : costs_.optimizer) {
    update += c.time;
    clocked = clocked || c.clocked;
    (c.clocked ? energy_.clocked_s : energy_.other_s) += c.time.value;
  }
  const Seconds issue{static_cast<double>(work_.tensors) * work_.optimizer_launches *
                      gpu_.host.optimizer_tensor_us * 1e-6};
  optimizer_ = {to_picoseconds(update),
                to_picoseconds(issue),
                label("optimizer", Phase::optimizer, WorkKind::optimizer),
                clocked};
  step_start_ = {0,
                 to_picoseconds(Seconds{gpu_.host.step_us * 1e-6}),
                 label("step", Phase::forward, WorkKind::memory)};
  out_.kernel_seconds[static_cast<std::size_t>(WorkKind::optimizer)] += update.value;
  out_.host_seconds += issue.value + gpu_.host.step_us * 1e-6;
  for (const Operator& op : work_.optimizer) book_energy(op.work, 1);
  lower_clock();
}

TaskId Builder::compute(const Timed& op) {
  const TaskId issued = tasks_.add({out_.host, op.issue, op.label, 0});
  return tasks_.add({out_.compute, op.kernel, op.label, compute_class}, {issued});
}

void Builder::forward() {
  for (const Timed& op : embedding_.forward) compute(op);
  for (std::int64_t i = 0; i < work_.blocks; ++i) {
    for (const Timed& op : block_.forward) compute(op);
  }
  for (const Timed& op : head_.forward) compute(op);
}

void Builder::send_bucket(TaskId last_copy) {
  const Timed& bucket = bucket_[next_bucket_];
  const std::uint8_t interference =
      link_.kind == Link::Kind::loopback ? copy_class : collective_class;
  const TaskId issued = tasks_.add({out_.host, bucket.issue, bucket.label, 0});
  tasks_.add({out_.communication, bucket.kernel, bucket.label, interference}, {issued, last_copy});
  any_sent_ = true;
  ++next_bucket_;
}

// The gradient of the next tensor in ready order, the stage's i-th, is complete.
void Builder::gradient_ready(const TimedStage& stage, std::size_t i, bool sync, bool accumulate) {
  if (accumulate) compute(stage.accumulate[i]);
  if (sync) {
    const TaskId copied = compute(stage.copy[i]);
    const Bucket& bucket = buckets_[next_bucket_ + waiting_.size()];
    if (next_tensor_ + 1 == bucket.first_tensor + bucket.tensors) {
      if (scenario_.parallel.overlap) {
        send_bucket(copied);
      } else {
        waiting_.push_back(copied);
      }
    }
  }
  ++next_tensor_;
}

void Builder::backward(const TimedStage& stage, bool sync, bool accumulate) {
  std::size_t ready = 0;
  for (std::size_t i = 0; i < stage.backward.size(); ++i) {
    compute(stage.backward[i]);
    while (ready < stage.ready.size() && stage.ready[ready].after == i) {
      if (sync || accumulate) gradient_ready(stage, ready, sync, accumulate);
      ++ready;
    }
  }
}

void Builder::backward(bool sync, bool accumulate) {
  next_tensor_ = 0;
  next_bucket_ = 0;
  backward(head_, sync, accumulate);
  for (std::int64_t i = 0; i < work_.blocks; ++i) backward(block_, sync, accumulate);
  backward(embedding_, sync, accumulate);
  // Without overlap every bucket waits for the last gradient.
  const std::vector<TaskId> held = std::move(waiting_);
  waiting_.clear();
  for (std::size_t i = 0; i < held.size(); ++i) send_bucket(held.back());
}

void Builder::optimizer() {
  // A loop that reads each gradient's norm back waits for the GPU tensor by tensor: its issue and its
  // kernels take turns, after everything before.
  const TaskId issued =
      work_.optimizer_waits
          ? tasks_.add({out_.host, optimizer_.issue, optimizer_.label, 0},
                       {tasks_.last_in_lane(any_sent_ ? out_.communication : out_.compute)})
          : tasks_.add({out_.host, optimizer_.issue, optimizer_.label, 0});
  TaskId done{};
  if (any_sent_) {
    done = tasks_.add({out_.compute, optimizer_.kernel, optimizer_.label, compute_class},
                      {issued, tasks_.last_in_lane(out_.communication)});
  } else {
    done = tasks_.add({out_.compute, optimizer_.kernel, optimizer_.label, compute_class}, {issued});
  }
  out_.step_end.push_back(done);
}

void Builder::step() {
  out_.step_begin.push_back(compute(step_start_));
  const std::int64_t micro_steps = scenario_.training.accumulation;
  for (std::int64_t i = 0; i < micro_steps; ++i) {
    forward();
    const bool last = i + 1 == micro_steps;
    backward(syncs_ && (last || scenario_.parallel.sync_each_micro_step), i > 0);
  }
  optimizer();
}

StepProgram Builder::build(int repeats) {
  time_everything();
  out_.host = tasks_.add_lane({LaneClass::host, 0});
  out_.compute = tasks_.add_lane({LaneClass::compute, 0});
  out_.communication = tasks_.add_lane(
      {link_.kind == Link::Kind::loopback ? LaneClass::copy : LaneClass::communication, 0});
  for (int i = 0; i < repeats; ++i) {
    step();
    if (i == 0) {
      const std::size_t each = tasks_.task_count();
      tasks_.reserve(each * static_cast<std::size_t>(repeats),
                     2 * each * static_cast<std::size_t>(repeats));
    }
  }
  out_.program = tasks_.build();
  out_.machine = step_machine(gpu_, without_);
  return std::move(out_);
}

}  // namespace

Machine step_machine(const GpuProfile& gpu, const Without& without) {
  Machine machine;
  if (without.slow_down) return machine;
  machine.slow_down[compute_class][collective_class] = gpu.overlap.compute_under_collective;
  machine.slow_down[collective_class][compute_class] = gpu.overlap.collective_under_compute;
  machine.slow_down[compute_class][copy_class] = gpu.overlap.compute_under_copy;
  machine.slow_down[copy_class][compute_class] = gpu.overlap.copy_under_compute;
  return machine;
}

StepProgram build_step(const StepWork& work,
                       const StepCosts& costs,
                       const Scenario& scenario,
                       const GpuProfile& gpu,
                       const Link& link,
                       const Without& without,
                       int repeats) {
  if (repeats < 2) throw std::logic_error("build_step: a steady step needs one before it");
  return Builder(work, costs, scenario, gpu, link, without).build(repeats);
}

}  // namespace stepsight
