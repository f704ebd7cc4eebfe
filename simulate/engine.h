// The discrete-event engine: a Program and a Machine in, a Timeline out.
//
// A task starts the instant its predecessor in the lane and all its dependencies are done, and
// advances at a rate in (0, 1] of its full rate until its work is done.
//
// Slow-down. While a task of class v runs, let P be the set of other classes with at least one
// running task in the same group; v itself joins P when at least two tasks of class v run there.
// The task's rate is the product of slow_down[v][a] over a in P. Classes count once however many
// of their tasks run: two collectives on one GPU slow a GEMM no more than one, since they contend
// for the same SMs.
//
// Shared links. The flows that run at one time, anywhere, share the capacities of `links` max-min
// fairly (model/max_min.h). A flow asks for its demand times its slow-down rate, and its rate is
// what it gets over its demand.
//
// Time. Rates change only when a task starts or ends. All ends of one picosecond and all starts
// they cause are settled before any rate is recomputed, so the order among events of equal time
// cannot be seen in the result. (Within it: ends by lane id, then starts.) At a change of rate a
// running task's remaining work is reduced by rate * time passed, in double; its new end is rounded
// to the nearest picosecond, the only place where the engine rounds. A task that never meets a rate
// below 1 takes exactly its work.
//
// Cost. Without slow-down among the classes used and without flows no rate can change, and the
// engine makes one pass over the arrays: O(tasks + dependencies). Otherwise an event costs
// O(log lanes), plus O(running lanes of the group) where the set of running classes changes, plus
// one progressive filling where the set of running flows changes.
#pragma once
#include <array>
#include <vector>

#include "model/units.h"
#include "simulate/program.h"
#include "simulate/timeline.h"

namespace stepsight {

using SlowDownMatrix = std::array<std::array<double, interference_classes>, interference_classes>;

// No class slows any other.
constexpr SlowDownMatrix no_slow_down() {
  SlowDownMatrix matrix{};
  for (auto& row : matrix) row.fill(1.0);
  return matrix;
}

struct Machine {
  // slow_down[victim][aggressor] in (0, 1]. Row and column 0 must stay 1: class 0 takes no part.
  SlowDownMatrix slow_down = no_slow_down();
  // Capacity of each link by LinkId, positive and finite.
  std::vector<BytesPerSecond> links;
};

// Pure: the same program and machine give the same bytes, on any number of threads.
// std::logic_error when the machine breaks a rule above or lacks a link that a flow names;
// UserError when the step is longer than longest_step.
Timeline run(const Program& program, const Machine& machine = {});

}  // namespace stepsight
