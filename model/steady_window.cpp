#include "model/steady_window.h"

#include <algorithm>
#include <cmath>

namespace stepsight {

namespace {

struct Weighted {
  double seconds;
  std::int64_t covers;
};

// The value below which a share `at` of the steps lies; entries count as often as they cover steps.
double quantile(std::vector<Weighted> values, double at) {
  std::ranges::sort(values, {}, &Weighted::seconds);
  double total = 0;
  for (const Weighted& v : values) total += static_cast<double>(v.covers);
  double below = 0;
  for (const Weighted& v : values) {
    below += static_cast<double>(v.covers);
    if (below >= at * total) return v.seconds;
  }
  return values.back().seconds;
}

std::vector<Weighted> weighted(std::span<const LoggedStep> steps) {
  std::vector<Weighted> out;
  out.reserve(steps.size());
  for (const LoggedStep& s : steps) out.push_back({s.seconds, s.covers});
  return out;
}

// An entry above this is no steady step.
double stall_limit(std::span<const LoggedStep> steps, double median) {
  std::vector<Weighted> deviations;
  deviations.reserve(steps.size());
  for (const LoggedStep& s : steps) deviations.push_back({std::abs(s.seconds - median), s.covers});
  return median + std::max(0.3 * median, 6 * 1.4826 * quantile(std::move(deviations), 0.5));
}

std::size_t first_steady(std::span<const LoggedStep> steps, double limit) {
  constexpr std::size_t look_ahead = 8;
  const std::size_t most = steps.size() / 2;
  for (std::size_t i = 0; i < most; ++i) {
    if (steps[i].seconds > limit) continue;
    const std::span next = steps.subspan(i, std::min(look_ahead, steps.size() - i));
    const auto steady =
        std::ranges::count_if(next, [limit](const LoggedStep& s) { return s.seconds <= limit; });
    if (2 * static_cast<std::size_t>(steady) > next.size()) return i;
  }
  return most;
}

void add_stalls(std::span<const LoggedStep> window, double limit, SteadyWindow& out) {
  std::vector<double> distances;
  std::optional<std::int64_t> last;
  double extra = 0;
  double total = 0;
  for (const LoggedStep& s : window) {
    const double covers = static_cast<double>(s.covers);
    total += s.seconds * covers;
    if (s.seconds <= limit) continue;
    const double more = (s.seconds - out.step_seconds) * covers;
    extra += more;
    ++out.stall_count;
    if (out.stalls.size() < most_stalls) out.stalls.push_back({s.index, more});
    if (last && s.index > *last) distances.push_back(static_cast<double>(s.index - *last));
    last = s.index;
  }
  out.stall_share = total > 0 ? extra / total : 0;
  if (distances.size() < 2) return;
  std::ranges::sort(distances);
  out.stall_every = distances[distances.size() / 2];
}

// The mean of an optional figure over the steps that say it.
template <typename Field>
std::optional<double> mean_of(std::span<const LoggedStep> steps, Field field) {
  double sum = 0;
  double count = 0;
  for (const LoggedStep& s : steps) {
    if (const std::optional<double>& value = s.*field) {
      sum += *value * static_cast<double>(s.covers);
      count += static_cast<double>(s.covers);
    }
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace

std::optional<SteadyWindow> steady_window(std::span<const LoggedStep> steps) {
  if (steps.empty()) return std::nullopt;
  const std::span half = steps.subspan(steps.size() / 2);
  const double end_median = quantile(weighted(half), 0.5);
  SteadyWindow out;
  out.first = first_steady(steps, stall_limit(half, end_median));
  for (const LoggedStep& s : steps.first(out.first)) {
    out.warm_up_steps += s.covers;
    out.warm_up_seconds += s.seconds * static_cast<double>(s.covers);
  }
  const std::span window = steps.subspan(out.first);
  out.entries = window.size();
  const double limit = out.stall_limit = stall_limit(window, quantile(weighted(window), 0.5));
  std::vector<Weighted> steady;
  double seconds = 0;
  double covered = 0;
  for (const LoggedStep& s : window) {
    seconds += s.seconds * static_cast<double>(s.covers);
    covered += static_cast<double>(s.covers);
    if (s.seconds > limit) continue;
    steady.push_back({s.seconds, s.covers});
    out.steps += s.covers;
  }
  out.step_seconds = quantile(steady, 0.5);
  out.low_seconds = quantile(steady, 0.25);
  out.high_seconds = quantile(std::move(steady), 0.75);
  out.mean_seconds = seconds / covered;
  add_stalls(window, limit, out);
  out.data_seconds = mean_of(window, &LoggedStep::data_seconds);
  out.rate = mean_of(window, &LoggedStep::rate);
  return out;
}

}  // namespace stepsight
