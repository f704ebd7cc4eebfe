#include "model/traced_units.h"

#include <algorithm>

namespace stepsight {

namespace {

// Gradients [begin, begin + count * period): `count` equal layers.
struct Repetition {
  std::size_t begin = 0;
  std::size_t period = 0;
  std::size_t count = 0;
  double elements = 0;
};

// More tensors than this to a layer are not looked for: a search takes gradients x longest period.
constexpr std::size_t longest_period = 1000;

Repetition best_repetition(const std::vector<TracedGradient>& gradients) {
  std::vector<double> sum{0};
  for (const TracedGradient& g : gradients) {
    sum.push_back(sum.back() + static_cast<double>(g.elements));
  }
  Repetition best;
  const std::size_t n = gradients.size();
  for (std::size_t period = 1; period <= std::min(n / 2, longest_period); ++period) {
    std::size_t run = 0;  // gradients up to here that equal the one a period later
    for (std::size_t i = 0; i + period <= n; ++i) {
      const bool equal = i + period < n && gradients[i].elements == gradients[i + period].elements;
      if (equal) {
        ++run;
        continue;
      }
      const std::size_t count = run / period + 1;
      if (run >= period) {
        // The latest of the possible beginnings ends with the run: what precedes belongs to the
        // head.
        const std::size_t begin = i + period - count * period;
        const double elements = sum[begin + count * period] - sum[begin];
        if (elements > best.elements) best = {begin, period, count, elements};
      }
      run = 0;
    }
  }
  return 2 * best.elements >= sum.back() ? best : Repetition{};
}

}  // namespace

TracedUnits traced_units(const TracedStep& step, std::int64_t layers) {
  const std::vector<TracedGradient>& gradients = step.gradients;
  const Repetition found = best_repetition(gradients);
  TracedUnits out;
  out.root_elements = parameter_count(step);
  const std::size_t end = found.begin + found.period * found.count;
  const std::size_t each = found.period * static_cast<std::size_t>(layers);
  for (std::size_t first = found.begin; first < end; first += each) {
    const std::size_t last = std::min(first + each, end);
    TracedUnit unit;
    unit.backward_begin = first == 0 ? step.backward_begin : gradients[first - 1].after;
    unit.backward_end = gradients[last - 1].after;
    unit.forward_begin = step.backward_begin;
    for (std::size_t i = first; i < last; ++i) {
      unit.elements += gradients[i].elements;
      unit.forward_begin = std::min(unit.forward_begin, gradients[i].first_use);
      out.forward_known = out.forward_known && gradients[i].first_use < step.backward_begin;
    }
    out.root_elements -= unit.elements;
    out.units.push_back(unit);
  }
  for (std::size_t i = 1; i < out.units.size(); ++i) {
    out.forward_known =
        out.forward_known && out.units[i].forward_begin < out.units[i - 1].forward_begin;
  }
  if (out.forward_known) return out;
  const double forward = step.backward_begin - step.forward_begin;
  const double backward = step.backward_end - step.backward_begin;
  for (TracedUnit& unit : out.units) {
    const double left = (step.backward_end - unit.backward_end) / std::max(backward, 1.0);
    unit.forward_begin = step.forward_begin + static_cast<std::uint32_t>(forward * left);
  }
  return out;
}

}  // namespace stepsight
