#include "simulate/step_trace.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "simulate/pipeline_trace.h"
#include "simulate/step_program.h"
#include "simulate/timeline.h"
#include "simulate/trace_builder.h"

namespace stepsight {

namespace {

constexpr std::string_view bucket_copy = "copy into bucket";

SliceKind kind_of(const TaskLabel& label) {
  if (label.kind == WorkKind::communication) return SliceKind::message;
  switch (label.phase) {
    case Phase::forward:
      return SliceKind::forward;
    case Phase::backward:
      return SliceKind::backward;
    case Phase::gradient_sync:
      return SliceKind::gradient_sync;
    case Phase::optimizer:
      return SliceKind::optimizer;
  }
  return SliceKind::other;
}

// Bytes of a message by what names it in the program: its label and its time, which follows from
// them.
using MessageBytes = std::map<std::pair<std::uint32_t, Picoseconds>, double>;

MessageBytes message_bytes(const TimedStep& timed) {
  MessageBytes out;
  const auto add = [&](const Timed& t) {
    if (t.bytes > 0) out.emplace(std::pair{t.label, t.kernel}, t.bytes);
  };
  for (const Timed& bucket : timed.bucket) add(bucket);
  for (const TimedUnit* u : {&timed.units.root, &timed.units.block, &timed.units.last}) {
    for (const Timed* t : {&u->gather, &u->scatter, &u->replicate, &u->fetch, &u->drain}) add(*t);
  }
  add(timed.partial_gradients);
  add(timed.gather_updated);
  add(timed.updated_to_card);
  for (const Timed& copy : timed.bucket_to_host) add(copy);
  for (const TimedStage* s : {&timed.embedding, &timed.block, &timed.kept_block, &timed.head}) {
    for (const TimedExchange& e : s->forward_exchanges) add(e.message);
    for (const TimedExchange& e : s->backward_exchanges) add(e.message);
    for (const Timed& copy : s->to_host) add(copy);
    add(s->stash);
    add(s->restore);
  }
  return out;
}

class Tracer {
 public:
  Tracer(const Scenario& scenario, const TimedStep& timed, const StepProgram& step)
      : scenario_(scenario),
        timed_(timed),
        step_(step),
        tasks_(step.program.tasks()),
        timeline_(run(step.program, step.machine)),
        bytes_(message_bytes(timed)),
        first_(index(step.step_end[step.step_end.size() - 2]) + 1),
        last_(index(step.step_end.back())) {}

  StepTrace trace(std::size_t most_slices);

 private:
  [[nodiscard]] const TaskLabel& label(std::uint32_t task) const {
    return step_.labels[tasks_[task].label];
  }
  [[nodiscard]] bool on(std::uint32_t task, LaneId lane) const {
    return tasks_[task].lane == index(lane);
  }
  // A copy between the card and host memory.
  [[nodiscard]] bool crosses(std::uint32_t task) const {
    return offloads() && (on(task, step_.to_host) || on(task, step_.from_host));
  }
  [[nodiscard]] bool offloads() const { return scenario_.parallel.offload != Offload::none; }
  [[nodiscard]] bool travels(std::uint32_t task) const {
    return on(task, step_.communication) || on(task, step_.exchange) || crosses(task);
  }
  [[nodiscard]] std::uint32_t slice_of(std::uint32_t task) const { return slices_[task - first_]; }
  [[nodiscard]] Picoseconds before_end() const {
    return timeline_.end[index(step_.step_end[step_.step_end.size() - 2])];
  }

  void add_tracks();
  void add_slice(std::uint32_t task);
  void add_phase(std::uint32_t task);
  void end_phase();
  void add_waits(std::uint32_t task);
  [[nodiscard]] std::vector<std::size_t> buckets_of_copies() const;
  void add_gradients();
  void add_counters();

  const Scenario& scenario_;
  const TimedStep& timed_;
  const StepProgram& step_;
  std::span<const Task> tasks_;
  Timeline timeline_;
  MessageBytes bytes_;
  std::uint32_t first_, last_;  // tasks of the steady step

  TraceBuilder builder_;
  std::uint32_t phases_ = 0;
  std::map<std::uint32_t, std::uint32_t> lane_track_, link_track_;
  std::vector<std::uint32_t> slices_;                    // by task
  std::optional<TraceSlice> phase_;                      // that is under way
  std::vector<std::uint32_t> copies_, bucket_messages_;  // tasks
};

void Tracer::add_tracks() {
  const std::int64_t gpus = scenario_.cluster.gpus;
  const std::string rank =
      gpus > 1 ? "GPU 0, as all " + std::to_string(gpus) + " of them" : std::string("GPU 0");
  phases_ = builder_.track(rank, "phases", TrackKind::phases);
  lane_track_[index(step_.host)] = builder_.track(rank, "host", TrackKind::host);
  lane_track_[index(step_.compute)] = builder_.track(rank, "compute", TrackKind::compute);
  lane_track_[index(step_.communication)] =
      builder_.track(rank, "communication", TrackKind::communication);
  lane_track_[index(step_.exchange)] =
      builder_.track(rank, "communication within the model", TrackKind::communication);
  if (offloads()) {
    lane_track_[index(step_.to_host)] =
        builder_.track(rank, "copies to host memory", TrackKind::communication);
    lane_track_[index(step_.from_host)] =
        builder_.track(rank, "copies from host memory", TrackKind::communication);
  }
  const std::string& link = scenario_.cluster.link;
  link_track_[index(step_.communication)] =
      builder_.track("links", link + ": gradients, parameters", TrackKind::link);
  link_track_[index(step_.exchange)] =
      builder_.track("links", link + ": within the model", TrackKind::link);
  if (offloads()) {
    link_track_[index(step_.to_host)] =
        builder_.track("links", "host memory: from the card", TrackKind::link);
    link_track_[index(step_.from_host)] =
        builder_.track("links", "host memory: to the card", TrackKind::link);
  }
}

void Tracer::end_phase() {
  if (phase_) builder_.slice(*phase_);
  phase_.reset();
}

// Forward, backward and update as stretches of the compute stream.
void Tracer::add_phase(std::uint32_t task) {
  const SliceKind kind = kind_of(label(task));
  if (!on(task, step_.compute) || kind == SliceKind::gradient_sync || kind == SliceKind::message) {
    return;
  }
  if (tasks_[task].work == 0) return;
  if (!phase_ || phase_->kind != kind) {
    end_phase();
    constexpr std::string_view names[] = {"forward", "backward", "", "optimizer"};
    phase_ = TraceSlice{phases_,
                        builder_.name(names[static_cast<std::size_t>(kind)]),
                        timeline_.start[task],
                        0,
                        kind};
  }
  phase_->end = timeline_.end[task];
}

void Tracer::add_slice(std::uint32_t task) {
  const Task& t = tasks_[task];
  TraceSlice slice{lane_track_.at(t.lane),
                   builder_.name(label(task).text),
                   timeline_.start[task],
                   timeline_.end[task],
                   kind_of(label(task))};
  const Picoseconds length = slice.end - slice.begin;
  if (length > 0 && t.work < length) {
    slice.rate = static_cast<double>(t.work) / static_cast<double>(length);
  }
  if (travels(task)) {
    const auto known = bytes_.find({t.label, t.work});
    if (known != bytes_.end()) slice.bytes = known->second;
  }
  slices_[task - first_] = builder_.slice(slice);
  if (!travels(task) || length == 0) return;
  slice.track = link_track_.at(t.lane);
  builder_.slice(slice);
}

// What a task waits for on another stream. That every kernel waits for its launch is plain and left
// out.
void Tracer::add_waits(std::uint32_t task) {
  for (const TaskId d : step_.program.dependencies(tasks_[task])) {
    const std::uint32_t from = index(d);
    if (from < first_ || tasks_[from].lane == tasks_[task].lane || on(from, step_.host)) continue;
    builder_.arrow(
        slice_of(from), slice_of(task), travels(task) ? FlowKind::message : FlowKind::wait);
  }
}

// Of each gradient that is copied, in the order of one backward's copies.
std::vector<std::size_t> Tracer::buckets_of_copies() const {
  std::vector<std::size_t> out;
  for (std::uint32_t tensor = 0; tensor < timed_.groups.size(); ++tensor) {
    const GradientGroup group = timed_.groups[tensor];
    if (group == GradientGroup::none) continue;
    const auto own = std::ranges::find_if(timed_.buckets, [&](const Bucket& b) {
      return b.group == group && b.last_tensor >= tensor;
    });
    out.push_back(static_cast<std::size_t>(own - timed_.buckets.begin()));
  }
  return out;
}

// From the kernel that completes a gradient to its copy, and from all copies of a bucket to its
// message.
void Tracer::add_gradients() {
  const std::size_t buckets = timed_.buckets.size();
  if (buckets == 0 || copies_.empty()) return;
  const std::vector<std::size_t> bucket_of = buckets_of_copies();
  const std::size_t tensors = bucket_of.size();
  std::uint32_t completes = 0;
  std::size_t copy = 0;
  for (std::uint32_t t = first_; t <= last_ && copy < copies_.size(); ++t) {
    if (!on(t, step_.compute)) continue;
    if (t != copies_[copy]) {
      if (label(t).kind != WorkKind::sync_copy && label(t).text != "accumulate") completes = t;
      continue;
    }
    const std::size_t bucket = bucket_of[copy % tensors];
    const auto later =
        std::find(bucket_of.begin() + static_cast<std::ptrdiff_t>(copy % tensors) + 1,
                  bucket_of.end(),
                  bucket);
    const bool last = later == bucket_of.end();
    if (completes != 0) builder_.arrow(slice_of(completes), slice_of(t), FlowKind::gradient);
    const std::size_t message = copy / tensors * buckets + bucket;
    // Its last copy releases the message, which add_waits() has drawn, except where all wait
    // together.
    if (message < bucket_messages_.size() && (!last || !scenario_.parallel.overlap)) {
      builder_.arrow(slice_of(t), slice_of(bucket_messages_[message]), FlowKind::message);
    }
    ++copy;
  }
}

void Tracer::add_counters() {
  std::vector<std::pair<Picoseconds, double>> ahead, waiting, rate;
  std::map<std::uint32_t, std::vector<std::pair<Picoseconds, double>>> link;
  for (std::uint32_t t = first_; t <= last_; ++t) {
    const Picoseconds start = timeline_.start[t];
    const Picoseconds end = timeline_.end[t];
    const auto length = static_cast<double>(end - start);
    Picoseconds ready = start;  // when the bytes of a message are there
    for (const TaskId d : step_.program.dependencies(tasks_[t])) {
      if (on(index(d), step_.host)) {
        if (on(t, step_.compute))
          ahead.insert(ahead.end(), {{timeline_.end[index(d)], 1}, {start, -1}});
      } else {
        ready = timeline_.end[index(d)];
      }
    }
    if (on(t, step_.compute) && end > start) {
      const double percent = 100 * static_cast<double>(tasks_[t].work) / length;
      rate.insert(rate.end(), {{start, percent}, {end, -percent}});
    }
    const auto known = bytes_.find({tasks_[t].label, tasks_[t].work});
    if (!travels(t) || known == bytes_.end() || end == start) continue;
    waiting.insert(waiting.end(), {{ready, known->second / 1e6}, {end, -known->second / 1e6}});
    const double speed = known->second / (length * 1e-12) / 1e9;
    auto& list = link[link_track_.at(tasks_[t].lane)];
    list.insert(list.end(), {{start, speed}, {end, -speed}});
  }
  const std::uint32_t compute = lane_track_.at(index(step_.compute));
  builder_.counter("kernels issued ahead", compute, std::move(ahead));
  builder_.counter("compute rate, % of full", compute, std::move(rate));
  builder_.counter("ready to send or on the way, MB", compute, std::move(waiting));
  for (auto& [track, changes] : link) {
    const bool within = track == link_track_.at(index(step_.exchange));
    const bool gradients = track == link_track_.at(index(step_.communication));
    builder_.counter(within      ? "within the model, GB/s"
                     : gradients ? "gradients, parameters, GB/s"
                                 : "host memory, GB/s",
                     track,
                     std::move(changes));
  }
}

StepTrace Tracer::trace(std::size_t most_slices) {
  add_tracks();
  slices_.resize(last_ - first_ + 1);
  Picoseconds origin = before_end();
  for (std::uint32_t t = first_; t <= last_; ++t) origin = std::min(origin, timeline_.start[t]);
  // A host that runs ahead issues this step while the GPU is still at the one before.
  if (origin < before_end()) {
    builder_.slice({lane_track_.at(index(step_.compute)),
                    builder_.name("the step before"),
                    origin,
                    before_end(),
                    SliceKind::other});
  }
  for (std::uint32_t t = first_; t <= last_; ++t) {
    add_phase(t);
    add_slice(t);
    if (label(t).text == bucket_copy && on(t, step_.compute)) copies_.push_back(t);
    if (label(t).text == "bucket" && on(t, step_.communication)) bucket_messages_.push_back(t);
  }
  end_phase();
  for (std::uint32_t t = first_; t <= last_; ++t) add_waits(t);
  add_gradients();
  add_counters();
  return builder_.build(most_slices, before_end(), timeline_.end[last_]);
}

}  // namespace

StepTrace trace_step(const Scenario& scenario, const GpuProfile& gpu, std::size_t most_slices) {
  const StepWork work = step_work(scenario);
  const StepCosts costs = cost_step(work, scenario.training.precision, gpu);
  const StepLinks links = resolve_links(gpu, scenario, work);
  const StepParts parts{work, costs, scenario, gpu, links};
  const TimedStep timed = time_step(parts);
  if (scenario.parallel.pipeline > 1) return trace_stages(parts, timed, most_slices);
  return Tracer(scenario, timed, build_step(parts)).trace(most_slices);
}

}  // namespace stepsight
