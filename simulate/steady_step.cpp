#include "simulate/steady_step.h"

#include <algorithm>

#include "simulate/timeline.h"

namespace stepsight {

namespace {

Intervals clipped(Intervals intervals, Interval window) {
  for (Interval& i : intervals) {
    i.begin = std::max(i.begin, window.begin);
    i.end = std::min(i.end, window.end);
  }
  std::erase_if(intervals, [](Interval i) { return i.begin >= i.end; });
  return intervals;
}

}  // namespace

QuickStep last_step(const StepProgram& step, const Timeline& timeline) {
  const auto end = [&](std::size_t i) { return timeline.end[index(step.step_end[i])]; };
  const std::size_t last = step.step_end.size() - 1;
  const Interval window{end(last - 1), end(last)};
  const Intervals compute = clipped(running(step.program, timeline, 0, LaneClass::compute), window);
  const Intervals communication =
      clipped(unite(running(step.program, timeline, 0, LaneClass::communication),
                    running(step.program, timeline, 0, LaneClass::copy)),
              window);
  const Picoseconds messages = total(communication);
  return {window.end - window.begin,
          messages,
          messages - total(intersect(compute, communication)),
          total(compute)};
}

QuickStep SteadyStep::on(const Machine& machine) {
  if (!program_) {
    if (const auto quick = quick_step(parts_, timed_, machine)) return *quick;
    program_ = build_step(parts_, timed_);
  }
  return last_step(*program_, run(program_->program, machine));
}

}  // namespace stepsight
