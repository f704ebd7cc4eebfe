#include "simulate/step_totals.h"

#include <algorithm>

namespace stepsight {

std::uint32_t StepTotals::label(std::string_view text, Phase phase, WorkKind kind) {
  const TaskLabel wanted{text, phase, kind};
  // Most often it is that of the task before.
  if (last_label < labels.size() && labels[last_label] == wanted) return last_label;
  const auto known = std::ranges::find(labels, wanted);
  const auto at = static_cast<std::uint32_t>(known - labels.begin());
  if (known == labels.end()) labels.push_back(wanted);
  last_label = at;
  return at;
}

}  // namespace stepsight
