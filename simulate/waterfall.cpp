#include "simulate/waterfall.h"

#include <algorithm>

namespace stepsight {

namespace {

// How long is waited for a link that has its latency and no bytes to carry.
double exposed_at_any_bandwidth(const Attribution& a, const StepQuestion& question) {
  if (a.exposed <= 0) return 0;
  if (!question.uses(StepInput::link_bandwidth)) return 0;  // a loop-back's copies are all bytes
  InputChanges changes{};
  changes[index(StepInput::link_bandwidth)] = taken_away;
  const double quick = question.step(changes).step.value;
  const double unexposed = a.alone + a.bubble + a.bucket_copies + a.slow_down;
  return std::clamp(quick - unexposed, 0.0, a.exposed);
}

}  // namespace

std::string_view name_of(StepCause cause) {
  constexpr std::array<std::string_view, step_cause_count> names{"compute",
                                                                 "pipeline bubble",
                                                                 "copies for the exchange",
                                                                 "exposed latency",
                                                                 "exposed bytes",
                                                                 "slowed by communication",
                                                                 "slowest rank",
                                                                 "loading",
                                                                 "pauses"};
  return names[static_cast<std::size_t>(cause)];
}

Waterfall waterfall_of(const Scenario& scenario,
                       const GpuProfile& gpu,
                       const Prediction& prediction) {
  Scenario regular = scenario;
  regular.irregular = {};
  return waterfall_of(prediction, step_question(regular, gpu));
}

Waterfall waterfall_of(const Prediction& prediction, const StepQuestion& regular) {
  const Attribution& a = prediction.attribution;
  const double latency = exposed_at_any_bandwidth(a, regular);
  const std::array<double, step_cause_count> seconds{a.alone,
                                                     a.bubble,
                                                     a.bucket_copies,
                                                     latency,
                                                     a.exposed - latency,
                                                     a.slow_down,
                                                     a.slowest,
                                                     a.loading,
                                                     a.stalls};
  Waterfall out;
  out.step = to_picoseconds(prediction.step);
  // Sums are rounded, not parts: so they end where the step does.
  double sum = 0;
  Picoseconds before = 0;
  for (std::size_t i = 0; i < step_cause_count; ++i) {
    sum += std::max(seconds[i], 0.0);
    const Picoseconds here = i + 1 == step_cause_count
                                 ? out.step
                                 : std::clamp(to_picoseconds(Seconds{sum}), before, out.step);
    out.parts[i] = here - before;
    before = here;
  }
  return out;
}

StepDifference difference(const Waterfall& a, const Waterfall& b) {
  StepDifference out;
  for (std::size_t i = 0; i < step_cause_count; ++i) {
    out.more[i] = std::max<Picoseconds>(b.parts[i] - a.parts[i], 0);
    out.less[i] = std::max<Picoseconds>(a.parts[i] - b.parts[i], 0);
  }
  return out;
}

}  // namespace stepsight
