#include "simulate/step_totals.h"

#include <algorithm>

namespace stepsight {

std::uint32_t StepTotals::label(std::string_view text, Phase phase, WorkKind kind) {
  const TaskLabel wanted{text, phase, kind};
  // The same text stands at the same place, most often.
  const auto is_wanted = [&](const TaskLabel& l) {
    return l.text.data() == text.data() && l.text.size() == text.size() && l.phase == phase &&
           l.kind == kind;
  };
  // Most often it is that of the task before.
  if (last_label < labels.size() && is_wanted(labels[last_label])) return last_label;
  auto known = std::ranges::find_if(labels, is_wanted);
  if (known == labels.end()) known = std::ranges::find(labels, wanted);
  const auto at = static_cast<std::uint32_t>(known - labels.begin());
  if (known == labels.end()) labels.push_back(wanted);
  last_label = at;
  return at;
}

}  // namespace stepsight
