// Steps of toy scenarios as programs, and what a steady one takes.
#pragma once
#include "simulate/step_program.h"
#include "simulate/timeline.h"
#include "tests/simulate/toy_scenario.h"

namespace stepsight {

inline StepProgram program_of(const Scenario& s,
                              const GpuProfile& gpu,
                              const Without& without = {},
                              int repeats = 2) {
  const StepWork work = step_work(s);
  const StepCosts costs = cost_step(work, s.training.precision, gpu);
  const StepLinks links = resolve_links(gpu, s, work);
  return build_step({work, costs, s, gpu, links}, without, repeats);
}

// The last of its steps.
inline Picoseconds last_step(const StepProgram& step) {
  const Timeline timeline = run(step.program, step.machine);
  const std::size_t n = step.step_end.size();
  return timeline.end[index(step.step_end[n - 1])] - timeline.end[index(step.step_end[n - 2])];
}

inline double step_of(const Scenario& s, const GpuProfile& gpu, const Without& without = {}) {
  return to_seconds(last_step(program_of(s, gpu, without))).value;
}

// The card with a wire that knows every collective as it knows the all-reduce.
inline GpuProfile with_every_collective(GpuProfile gpu) {
  const std::vector<CollectiveCurve> all_reduce = gpu.collectives;
  for (const CollectiveCurve& c : all_reduce) {
    for (const CollectiveInfo& row : collectives) {
      if (row.kind == CollectiveKind::all_reduce) continue;
      CollectiveCurve other = c;
      other.kind = row.kind;
      gpu.collectives.push_back(other);
    }
  }
  return gpu;
}

}  // namespace stepsight
