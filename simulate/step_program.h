// From a scenario to a program for the engine: one rank of a step (its peers do the same at the same
// time), with a host thread that issues, a compute stream that runs no kernel before it was issued, a
// stream on which gradients and gathered parameters travel while compute goes on, and one for the
// messages that compute waits for (tensor, context and expert parallel).
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/profile.h"
#include "simulate/engine.h"
#include "simulate/program.h"
#include "simulate/timed_step.h"

namespace stepsight {

struct StepProgram {
  Program program;
  Machine machine;
  std::vector<TaskLabel> labels;
  LaneId host{};
  LaneId compute{};
  LaneId communication{};
  LaneId exchange{};
  // The last task of each repeated step; a step takes from one to the next.
  std::vector<TaskId> step_end;
  std::vector<TaskId> step_begin;          // first compute task of each step
  std::array<double, work_kind_count> kernel_seconds{};  // by WorkKind, of one step, each at full rate
  double clock = 1;                        // of the highest, where the power limit lowers it
  double host_seconds = 0;                 // issue time of one step
  double unmeasured_seconds = 0;           // kernels whose shape is far from every measured point
  double message_bytes = 0;                // all buckets of one step together
  std::uint32_t buckets = 0;
};

// How compute and communication of one GPU slow each other.
Machine step_machine(const GpuProfile& gpu, const Without& without = {});

// `repeats` >= 2 steps in a row: the first fills the pipeline of host and GPU, the last is steady.
StepProgram build_step(const StepParts& parts, const Without& without = {}, int repeats = 2);

}  // namespace stepsight
