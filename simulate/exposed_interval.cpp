#include "simulate/exposed_interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace stepsight {

namespace {

// Inputs that are off together: a card, and a link, is slower than thought as a whole.
constexpr std::array compute{
    StepInput::products, StepInput::attention, StepInput::convolutions, StepInput::memory};
constexpr std::array host{StepInput::host};
constexpr std::array link{StepInput::link_latency, StepInput::link_bandwidth};
constexpr std::array copies{StepInput::copies};
constexpr std::array overlap{StepInput::overlap};

}  // namespace

Quantiles exposed_interval(double exposed_s,
                           const StepQuestion& question,
                           const Uncertainty& uncertainty,
                           const ModelError& error) {
  const bool exchanges =
      question.uses(StepInput::link_bandwidth) || question.uses(StepInput::copies);
  if (!exchanges) return {};
  const double of_model = exposed_s * error.sd[static_cast<std::size_t>(ErrorTerm::any)];
  double longer = of_model * of_model * error.high * error.high;
  double shorter = of_model * of_model * error.low * error.low;
  const auto move = [&](std::span<const StepInput> inputs) {
    double up = 0, down = 0;
    for (const double end : {error.low, error.high}) {
      InputChanges changes{};
      for (const StepInput input : inputs) {
        if (!question.uses(input)) continue;
        changes[index(input)] = end * uncertainty.input_log_sd[index(input)];
      }
      if (std::ranges::all_of(changes, [](double c) { return c == 0; })) continue;
      const double change = question.exposed(changes) - exposed_s;
      up = std::max(up, change);
      down = std::max(down, -change);
    }
    longer += up * up;
    shorter += down * down;
  };
  move(compute);
  move(link);
  move(copies);
  move(overlap);
  // A host far ahead of the GPU changes nothing.
  if (uncertainty.elasticities[index(StepInput::host)] > 0) move(host);
  return {std::max(0.0, exposed_s - std::sqrt(shorter)), exposed_s, exposed_s + std::sqrt(longer)};
}

}  // namespace stepsight
