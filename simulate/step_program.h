// From a scenario to a program for the engine: one rank of a step (its peers do the same at the
// same time), with a host thread that issues, a compute stream that runs no kernel before it was
// issued, a stream on which gradients and gathered parameters travel while compute goes on, one for
// the messages that compute waits for (tensor, context and expert parallel), and one each way for
// copies between the card and its host's memory.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "model/profile.h"
#include "model/rounds.h"
#include "simulate/engine.h"
#include "simulate/program.h"
#include "simulate/timed_step.h"

namespace stepsight {

// The totals are those of one step.
struct StepProgram : StepTotals {
  Program program;
  Machine machine;
  LaneId host{};
  LaneId compute{};
  LaneId communication{};
  LaneId exchange{};
  LaneId to_host{}, from_host{};  // where something lies in host memory; else unused
  // The last task of each repeated step; a step takes from one to the next.
  std::vector<TaskId> step_end;
  std::vector<TaskId> step_begin;  // first compute task of each step
  std::uint32_t buckets = 0;
};

// Rows and columns of step_machine()'s slow-down matrix.
inline constexpr std::uint8_t compute_class = 1;  // bound by instructions, in about usual_rounds
inline constexpr std::uint8_t collective_class = 2;
inline constexpr std::uint8_t copy_class = 3;
inline constexpr std::uint8_t memory_class = 4;  // compute bound by memory
// Kernels on another stream than what computes. Either would fill the GPU by itself: they share it.
inline constexpr std::uint8_t beside_class = 8;
// Bound by instructions, in other numbers of rounds; each class stands for those up to `most`.
struct RoundsClass {
  std::uint8_t id;
  double stands_for, most;
};
inline constexpr std::array<RoundsClass, 4> rounds_classes{
    {{5, 2, 2.5}, {6, 3.4, 4.5}, {compute_class, usual_rounds, 11}, {7, 15, 1e300}}};

constexpr std::uint8_t class_of(const Timed& op) {
  if (!op.clocked) return memory_class;
  if (op.rounds <= 0) return compute_class;
  std::size_t i = 0;
  while (static_cast<double>(op.rounds) > rounds_classes[i].most) ++i;
  return rounds_classes[i].id;
}

// How compute and communication of one GPU slow each other.
Machine step_machine(const GpuProfile& gpu, const Without& without = {});

// `repeats` >= 2 steps in a row: the first fills the pipeline of host and GPU, the last is steady.
StepProgram build_step(const StepParts& parts, const Without& without = {}, int repeats = 2);
// The same of a step that is priced already.
StepProgram build_step(const StepParts& parts,
                       const TimedStep& timed,
                       const Without& without = {},
                       int repeats = 2);

}  // namespace stepsight
