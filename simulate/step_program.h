// From a scenario to a program for the engine: one rank of a data-parallel step (its peers do the
// same at the same time), with a host thread that issues, a compute stream that runs no kernel
// before it was issued, and a stream on which gradient buckets travel while backward goes on.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/profile.h"
#include "model/scenario.h"
#include "model/transformer.h"
#include "simulate/engine.h"
#include "simulate/link.h"
#include "simulate/program.h"
#include "simulate/step_costs.h"

namespace stepsight {

enum class Phase : std::uint8_t { forward, backward, gradient_sync, optimizer };
enum class WorkKind : std::uint8_t { gemm, attention, memory, optimizer, sync_copy, communication };

// What a task stands for; Task::label indexes StepProgram::labels.
struct TaskLabel {
  std::string_view text;
  Phase phase = Phase::forward;
  WorkKind kind = WorkKind::memory;
};

struct StepProgram {
  Program program;
  Machine machine;
  std::vector<TaskLabel> labels;
  LaneId host{};
  LaneId compute{};
  LaneId communication{};
  // The last task of each repeated step; a step takes from one to the next.
  std::vector<TaskId> step_end;
  std::vector<TaskId> step_begin;          // first compute task of each step
  std::array<double, 6> kernel_seconds{};  // by WorkKind, of one step, each at full rate
  double clock = 1;                        // of the highest, where the power limit lowers it
  double host_seconds = 0;                 // issue time of one step
  double unmeasured_seconds = 0;           // kernels whose shape is far from every measured point
  double message_bytes = 0;                // all buckets of one step together
  std::uint32_t buckets = 0;
};

// Causes that can be taken out of a program one by one, to see what each costs.
struct Without {
  bool communication = false;  // buckets take no time
  bool slow_down = false;      // compute runs at full rate under communication
  bool sync_copies = false;    // gradients are not copied into buckets, buckets are not issued
};

// How compute and communication of one GPU slow each other.
Machine step_machine(const GpuProfile& gpu, const Without& without = {});

// `repeats` >= 2 steps in a row: the first fills the pipeline of host and GPU, the last is steady.
// `costs` are those of `work` (cost_step).
StepProgram build_step(const StepWork& work,
                       const StepCosts& costs,
                       const Scenario& scenario,
                       const GpuProfile& gpu,
                       const Link& link,
                       const Without& without = {},
                       int repeats = 2);

}  // namespace stepsight
