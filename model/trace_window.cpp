#include <algorithm>

#include "model/trace_events.h"

namespace stepsight {

namespace {

double end_of(const TraceSpan& s) {
  return s.start + s.duration;
}

std::vector<TraceMark> marks_of(const TraceSurvey& survey, TraceMark::Kind kind) {
  std::vector<TraceMark> out;
  for (const TraceMark& m : survey.marks) {
    if (m.kind == kind) out.push_back(m);
  }
  std::ranges::stable_sort(out, {}, [](const TraceMark& m) { return m.span.start; });
  return out;
}

// Marked steps. Where only some of them update, those before are micro-steps of the one that does:
// the window then spans them all. A file may begin amid such a group, so its first does not count.
std::vector<TraceWindow> marked_windows(const std::vector<TraceMark>& steps,
                                        const std::vector<TraceMark>& updates) {
  const auto updates_in = [&](const TraceMark& step) {
    return std::ranges::any_of(updates, [&](const TraceMark& u) {
      return u.span.start >= step.span.start && u.span.start < end_of(step.span);
    });
  };
  const auto updating = std::ranges::count_if(steps, updates_in);
  const bool accumulates = updating > 1 && updating < std::ssize(steps);
  std::vector<TraceWindow> out;
  double begin = 0;
  bool open = false;
  for (const TraceMark& step : steps) {
    if (!open) begin = step.span.start;
    open = accumulates && !updates_in(step);
    if (!open) out.push_back({begin, end_of(step.span), false, step.name, 1});
  }
  if (accumulates) out.erase(out.begin());
  return out;
}

std::vector<TraceWindow> windows_between(const std::vector<TraceMark>& all_updates) {
  std::vector<TraceMark> updates;
  for (const TraceMark& m : all_updates) {
    if (m.name == all_updates.front().name) updates.push_back(m);
  }
  std::vector<TraceWindow> out;
  for (std::size_t i = 1; i < updates.size(); ++i) {
    out.push_back({end_of(updates[i - 1].span),
                   end_of(updates[i].span),
                   false,
                   "step " + std::to_string(i + 1) + " of " + std::to_string(updates.size()),
                   1});
  }
  return out;
}

}  // namespace

TraceWindow steady_window(const TraceSurvey& survey) {
  const std::vector<TraceMark> updates = marks_of(survey, TraceMark::Kind::optimizer);
  std::vector<TraceWindow> windows =
      marked_windows(marks_of(survey, TraceMark::Kind::step), updates);
  if (windows.empty()) windows = windows_between(updates);
  if (windows.empty()) return {survey.begin, survey.end, true, "", 1};
  const int steps = static_cast<int>(windows.size());
  if (windows.size() >= 3) windows.erase(windows.begin());
  const auto middle = windows.begin() + static_cast<std::ptrdiff_t>((windows.size() - 1) / 2);
  std::ranges::nth_element(
      windows, middle, {}, [](const TraceWindow& w) { return w.end - w.begin; });
  TraceWindow out = *middle;
  out.steps = steps;
  return out;
}

}  // namespace stepsight
