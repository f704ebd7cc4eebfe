#include "simulate/pipeline_time.h"

#include <algorithm>
#include <array>

namespace stepsight {
namespace {

enum class Cause : std::uint8_t { messages, collectives, host, another_pass };

Cause cause_of(std::uint32_t label) {
  switch (unpack_pipeline_label(label).task) {
    case PipelineTask::issue:
      return Cause::host;
    case PipelineTask::send_activations:
    case PipelineTask::receive_activations:
    case PipelineTask::send_gradients:
    case PipelineTask::receive_gradients:
      return Cause::messages;
    case PipelineTask::gradient_sync:
    case PipelineTask::embedding_sync:
    case PipelineTask::global_norm:
    case PipelineTask::parameter_gather:
      return Cause::collectives;
    case PipelineTask::forward:
    case PipelineTask::backward:
    case PipelineTask::input_gradient:
    case PipelineTask::weight_gradient:
    case PipelineTask::optimizer:
      break;
  }
  return Cause::another_pass;
}

// Picoseconds by cause of one stage's compute stream.
struct StageSums {
  Picoseconds passes = 0;
  Picoseconds slow_down = 0;
  Picoseconds optimizer = 0;
  std::array<Picoseconds, 3> waits{};  // by Cause
  Picoseconds bubble = 0;
};

class Reader {
 public:
  Reader(const PipelineProgram& pipeline, const Timeline& timeline)
      : program_(pipeline.program), timeline_(timeline) {}

  StageSums read(const PipelineStageLanes& lanes);

 private:
  void wait_for_dependencies(const Task& task, Interval gap, StageSums& sums);
  void wait_for_collectives(LaneId lane, Interval gap, StageSums& sums);

  const Program& program_;
  const Timeline& timeline_;
};

// A task waits for a handful of others: sorted by start, each covers what those before it left.
void Reader::wait_for_dependencies(const Task& task, Interval gap, StageSums& sums) {
  std::array<std::uint32_t, 8> order{};
  std::size_t count = 0;
  for (const TaskId id : program_.dependencies(task)) {
    const std::uint32_t t = index(id);
    if (timeline_.end[t] <= gap.begin || count == order.size()) continue;
    if (cause_of(program_.tasks()[t].label) == Cause::another_pass) continue;
    std::size_t at = count++;
    for (; at > 0 && timeline_.start[order[at - 1]] > timeline_.start[t]; --at) {
      order[at] = order[at - 1];
    }
    order[at] = t;
  }
  Picoseconds covered = gap.begin;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t t = order[i];
    const Picoseconds begin = std::max(covered, timeline_.start[t]);
    if (timeline_.end[t] <= begin) continue;
    sums.bubble += begin - covered;
    sums.waits[static_cast<std::size_t>(cause_of(program_.tasks()[t].label))] +=
        timeline_.end[t] - begin;
    covered = timeline_.end[t];
  }
  sums.bubble += gap.end - covered;
}

// Around the optimizer whatever collective runs is waited for.
void Reader::wait_for_collectives(LaneId lane, Interval gap, StageSums& sums) {
  Picoseconds covered = 0;
  for (std::uint32_t t = program_.first_in_lane(lane); t != no_index;
       t = program_.tasks()[t].next_in_lane) {
    covered += std::max<Picoseconds>(
        0, std::min(gap.end, timeline_.end[t]) - std::max(gap.begin, timeline_.start[t]));
  }
  sums.waits[static_cast<std::size_t>(Cause::collectives)] += covered;
  sums.bubble += gap.end - gap.begin - covered;
}

StageSums Reader::read(const PipelineStageLanes& lanes) {
  StageSums sums;
  Picoseconds free = 0;
  for (std::uint32_t t = program_.first_in_lane(lanes.compute); t != no_index;
       t = program_.tasks()[t].next_in_lane) {
    const Task& task = program_.tasks()[t];
    const Interval gap{free, timeline_.start[t]};
    const Picoseconds took = timeline_.end[t] - timeline_.start[t];
    free = timeline_.end[t];
    if (unpack_pipeline_label(task.label).task == PipelineTask::optimizer) {
      sums.optimizer += took;
      wait_for_collectives(lanes.collective, gap, sums);
      continue;
    }
    sums.passes += took;
    sums.slow_down += took - task.work;
    if (gap.begin < gap.end) wait_for_dependencies(task, gap, sums);
  }
  wait_for_collectives(lanes.collective, {free, timeline_.makespan}, sums);
  return sums;
}

}  // namespace

PipelineTime pipeline_time(const PipelineProgram& pipeline, const Timeline& timeline) {
  PipelineTime out;
  out.step = to_seconds(timeline.makespan);
  out.stages.reserve(pipeline.stages.size());
  Reader reader(pipeline, timeline);
  Seconds bubbles;
  for (const PipelineStageLanes& lanes : pipeline.stages) {
    const StageSums sums = reader.read(lanes);
    const auto waited = [&](Cause cause) {
      return to_seconds(sums.waits[static_cast<std::size_t>(cause)]);
    };
    out.stages.push_back({to_seconds(sums.passes),
                          to_seconds(sums.slow_down),
                          to_seconds(sums.optimizer),
                          waited(Cause::messages),
                          waited(Cause::collectives),
                          waited(Cause::host),
                          to_seconds(sums.bubble)});
    bubbles += out.stages.back().bubble;
  }
  const Seconds all = out.step * static_cast<double>(out.stages.size());
  out.bubble_fraction = all.value > 0 ? bubbles / all : 0;
  return out;
}

PipelineTime predict_pipeline(const PipelineOrder& schedule,
                              const PipelineCosts& costs,
                              const Machine& machine) {
  const PipelineProgram pipeline = build_pipeline(schedule, costs);
  return pipeline_time(pipeline, run(pipeline.program, machine));
}

}  // namespace stepsight
