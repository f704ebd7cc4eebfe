#include "simulate/pipeline_trace.h"

#include <array>
#include <map>
#include <optional>
#include <string>

#include "simulate/pipeline_step.h"
#include "simulate/step_program.h"
#include "simulate/timeline.h"
#include "simulate/trace_builder.h"

namespace stepsight {

namespace {

constexpr std::array<std::string_view, 14> task_words{"forward",
                                                      "backward",
                                                      "input gradient",
                                                      "weight gradient",
                                                      "issue",
                                                      "send activations",
                                                      "receive activations",
                                                      "send gradients",
                                                      "receive gradients",
                                                      "gradients",
                                                      "tied embedding",
                                                      "norm of the gradients",
                                                      "optimizer",
                                                      "gather updated parameters"};

SliceKind kind_of(PipelineTask task) {
  switch (task) {
    case PipelineTask::forward:
      return SliceKind::forward;
    case PipelineTask::backward:
    case PipelineTask::input_gradient:
    case PipelineTask::weight_gradient:
      return SliceKind::backward;
    case PipelineTask::optimizer:
      return SliceKind::optimizer;
    case PipelineTask::issue:
      return SliceKind::other;
    default:
      return SliceKind::message;
  }
}

bool is_pass(PipelineTask task) {
  return task <= PipelineTask::weight_gradient || task == PipelineTask::issue;
}

class Tracer {
 public:
  Tracer(const StepParts& parts, const TimedStep& timed)
      : scenario_(parts.scenario),
        costs_(pipeline_costs(parts, timed)),
        pipeline_(build_stages(parts, timed, {}, HostLane::always)),
        program_(pipeline_.program),
        timeline_(run(program_, step_machine(parts.gpu))) {}

  StepTrace trace(std::size_t most_slices);

 private:
  void add_tracks();
  void add_stage(std::uint32_t stage);
  void add_slice(std::uint32_t task);
  void add_arrows(std::uint32_t task);
  void add_counters();
  [[nodiscard]] std::string name_of(PipelineLabel label) const;
  [[nodiscard]] double bytes_of(std::uint32_t stage, PipelineTask task) const;
  // Between a stage and the next, the last one's next being the first; nothing for other tasks.
  [[nodiscard]] std::optional<std::uint32_t> link_of(std::uint32_t stage, PipelineTask task) const;
  [[nodiscard]] std::uint32_t stage_of(std::uint32_t task) const {
    return program_.lanes()[program_.tasks()[task].lane].group;
  }
  [[nodiscard]] bool host(std::uint32_t task) const {
    return program_.lanes()[program_.tasks()[task].lane].lane_class == LaneClass::host;
  }

  const Scenario& scenario_;
  PipelineCosts costs_;
  PipelineProgram pipeline_;
  const Program& program_;
  Timeline timeline_;
  TraceBuilder builder_;
  std::map<std::uint32_t, std::uint32_t> lane_track_;
  std::map<std::uint32_t, std::uint32_t> link_track_;  // by twice the stage, and one for gradients
  std::vector<std::uint32_t> slices_;
};

std::string Tracer::name_of(PipelineLabel label) const {
  std::string out(task_words[static_cast<std::size_t>(label.task)]);
  if (is_pass(label.task)) out += " of micro-batch " + std::to_string(label.micro_batch);
  const bool chunked = is_pass(label.task) || label.task == PipelineTask::gradient_sync ||
                       label.task == PipelineTask::parameter_gather;
  if (chunked && scenario_.parallel.chunks > 1) out += ", chunk " + std::to_string(label.chunk);
  return out;
}

double Tracer::bytes_of(std::uint32_t stage, PipelineTask task) const {
  if (task == PipelineTask::send_activations) return costs_.stages[stage].activations.bytes.value;
  if (task == PipelineTask::send_gradients) return costs_.stages[stage].gradients.bytes.value;
  return 0;
}

std::optional<std::uint32_t> Tracer::link_of(std::uint32_t stage, PipelineTask task) const {
  const auto stages = static_cast<std::uint32_t>(pipeline_.stages.size());
  if (task == PipelineTask::send_activations) return 2 * stage;
  if (task == PipelineTask::send_gradients) return 2 * ((stage + stages - 1) % stages) + 1;
  return std::nullopt;
}

void Tracer::add_stage(std::uint32_t stage) {
  const auto stages = static_cast<std::int64_t>(pipeline_.stages.size());
  const std::int64_t ranks = scenario_.cluster.gpus / stages;
  std::string process = "stage " + std::to_string(stage);
  if (ranks > 1) process += ", as each of its " + std::to_string(ranks) + " GPUs";
  const PipelineStageLanes& lanes = pipeline_.stages[stage];
  const auto add = [&](LaneId lane, const char* name, TrackKind kind) {
    lane_track_[index(lane)] = builder_.track(process, name, kind);
  };
  if (pipeline_.has_host) add(lanes.host, "host", TrackKind::host);
  add(lanes.compute, "compute", TrackKind::compute);
  if (pipeline_.has_messages) {
    add(lanes.send_activations, "activations sent", TrackKind::communication);
    add(lanes.receive_activations, "activations received", TrackKind::communication);
    add(lanes.send_gradients, "gradients sent", TrackKind::communication);
    add(lanes.receive_gradients, "gradients received", TrackKind::communication);
  }
  add(lanes.collective, "collectives", TrackKind::communication);
}

void Tracer::add_tracks() {
  const auto stages = static_cast<std::uint32_t>(pipeline_.stages.size());
  for (std::uint32_t s = 0; s < stages; ++s) add_stage(s);
  for (std::uint32_t s = 0; s < stages; ++s) {
    const std::string here = std::to_string(s);
    const std::string next = std::to_string((s + 1) % stages);
    link_track_[2 * s] = builder_.track("links", "stage " + here + " to " + next, TrackKind::link);
    link_track_[2 * s + 1] =
        builder_.track("links", "stage " + next + " to " + here, TrackKind::link);
  }
}

void Tracer::add_slice(std::uint32_t task) {
  const Task& t = program_.tasks()[task];
  const PipelineLabel label = unpack_pipeline_label(t.label);
  TraceSlice slice{lane_track_.at(t.lane),
                   builder_.name(name_of(label)),
                   timeline_.start[task],
                   timeline_.end[task],
                   kind_of(label.task)};
  const Picoseconds length = slice.end - slice.begin;
  if (t.work < length) slice.rate = static_cast<double>(t.work) / static_cast<double>(length);
  slice.bytes = bytes_of(stage_of(task), label.task);
  slices_.push_back(builder_.slice(slice));
  const auto link = link_of(stage_of(task), label.task);
  if (!link || length == 0) return;
  slice.track = link_track_.at(*link);
  builder_.slice(slice);
}

// From a pass to what it sends, from there to the pass that needs it, and from the last gradients
// to their collectives. That passes of a stage follow each other is plain and left out.
void Tracer::add_arrows(std::uint32_t task) {
  const PipelineTask to = unpack_pipeline_label(program_.tasks()[task].label).task;
  for (const TaskId d : program_.dependencies(program_.tasks()[task])) {
    const std::uint32_t from = index(d);
    if (host(from) || host(task)) continue;
    if (program_.tasks()[from].lane == program_.tasks()[task].lane) continue;
    const PipelineTask what = unpack_pipeline_label(program_.tasks()[from].label).task;
    const bool sends = link_of(stage_of(task), to).has_value();
    const bool own = stage_of(from) == stage_of(task);
    // A message that the receiver was not yet ready for, or a sender that waits for it to leave.
    if ((sends && !own) || (own && link_of(stage_of(from), what))) continue;
    const FlowKind kind = to == PipelineTask::gradient_sync   ? FlowKind::gradient
                          : kind_of(to) == SliceKind::message ? FlowKind::message
                                                              : FlowKind::wait;
    builder_.arrow(slices_[from], slices_[task], kind);
  }
}

// How many forwards each stage keeps activations of, until the backward that ends them.
void Tracer::add_counters() {
  std::vector<std::vector<std::pair<Picoseconds, double>>> held(pipeline_.stages.size());
  for (std::uint32_t t = 0; t < program_.tasks().size(); ++t) {
    if (program_.lanes()[program_.tasks()[t].lane].lane_class != LaneClass::compute) continue;
    const PipelineTask task = unpack_pipeline_label(program_.tasks()[t].label).task;
    auto& list = held[stage_of(t)];
    if (task == PipelineTask::forward) list.emplace_back(timeline_.start[t], 1);
    // The last backward of a chunk is cut into one task a gradient bucket; only the last piece ends
    // it.
    const std::uint32_t next = program_.tasks()[t].next_in_lane;
    const bool goes_on =
        next != no_index && program_.tasks()[next].label == program_.tasks()[t].label;
    const bool ends = task == PipelineTask::backward || task == PipelineTask::weight_gradient;
    if (ends && !goes_on) list.emplace_back(timeline_.end[t], -1);
  }
  for (std::size_t s = 0; s < held.size(); ++s) {
    builder_.counter("forwards held for backward",
                     lane_track_.at(index(pipeline_.stages[s].compute)),
                     std::move(held[s]));
  }
}

StepTrace Tracer::trace(std::size_t most_slices) {
  add_tracks();
  slices_.reserve(program_.tasks().size());
  for (std::uint32_t t = 0; t < program_.tasks().size(); ++t) add_slice(t);
  for (std::uint32_t t = 0; t < program_.tasks().size(); ++t) add_arrows(t);
  add_counters();
  return builder_.build(most_slices, 0, timeline_.makespan);
}

}  // namespace

StepTrace trace_stages(const StepParts& parts, const TimedStep& timed, std::size_t most_slices) {
  return Tracer(parts, timed).trace(most_slices);
}

}  // namespace stepsight
