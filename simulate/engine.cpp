#include "simulate/engine.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "simulate/contention.h"

namespace stepsight {
namespace {

void require(bool holds, const char* invariant) {
  if (!holds) throw std::logic_error(invariant);
}

void check(const Program& program, const Machine& machine) {
  for (std::size_t victim = 0; victim < interference_classes; ++victim) {
    for (std::size_t aggressor = 0; aggressor < interference_classes; ++aggressor) {
      const double rate = machine.slow_down[victim][aggressor];
      require(rate > 0 && rate <= 1, "a slow-down rate must lie in (0, 1]");
      require(rate == 1 || (victim > 0 && aggressor > 0), "interference class 0 takes no part");
    }
  }
  for (const BytesPerSecond capacity : machine.links) {
    require(capacity.value > 0 && std::isfinite(capacity.value),
            "the capacity of a link must be positive and finite");
  }
  for (const LinkId link : program.flow_links()) {
    require(index(link) < machine.links.size(), "a flow names a link that the machine lacks");
  }
}

// Whether any rate below 1 can occur.
bool rates_can_change(const Program& program, const Machine& machine) {
  if (program.flow_count() > 0) return true;
  const auto used = [&](std::size_t c) { return (program.interference_used() >> c & 1U) != 0; };
  for (std::size_t victim = 1; victim < interference_classes; ++victim) {
    for (std::size_t aggressor = 1; aggressor < interference_classes; ++aggressor) {
      if (used(victim) && used(aggressor) && machine.slow_down[victim][aggressor] < 1) return true;
    }
  }
  return false;
}

// At full rate a task ends its work after the latest of what it waits for. All of that has smaller
// ids, so one pass in array order is the whole simulation. The sum cannot wrap: no end is later
// than the total work, which the builder bounds.
Timeline run_at_full_rate(const Program& program) {
  const auto tasks = program.tasks();
  Timeline out;
  out.start.resize(tasks.size());
  out.end.resize(tasks.size());
  std::vector<Picoseconds> lane_free(program.lanes().size(), 0);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks[t];
    Picoseconds start = lane_free[task.lane];
    for (const TaskId dependency : program.dependencies(task)) {
      start = std::max(start, out.end[index(dependency)]);
    }
    out.start[t] = start;
    out.end[t] = lane_free[task.lane] = start + task.work;
    out.makespan = std::max(out.makespan, out.end[t]);
  }
  return out;
}

}  // namespace

Timeline run(const Program& program, const Machine& machine) {
  check(program, machine);
  return rates_can_change(program, machine) ? run_with_contention(program, machine)
                                            : run_at_full_rate(program);
}

}  // namespace stepsight
