#include "model/io/logs/step_collector.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace stepsight {

namespace {

constexpr double ten_years = 10 * 365.25 * 86400;
constexpr std::int64_t most_covered = 1'000'000'000;

std::optional<double> joined(const std::optional<double>& a,
                             const std::optional<double>& b,
                             double share_of_a) {
  if (!a || !b) return a ? a : b;
  return *a * share_of_a + *b * (1 - share_of_a);
}

}  // namespace

void StepCollector::add(LoggedStep step, std::optional<std::int64_t> rank) {
  const bool repeated = !steps_.empty() && step.index == last_index_;
  if (repeated || (rank && rank_ && *rank != *rank_)) {
    ++other_ranks_;
    return;
  }
  const bool good = std::isfinite(step.seconds) && step.seconds > 0 && step.seconds < ten_years &&
                    step.covers > 0 && step.covers < most_covered;
  if (!good) {
    ++unreadable_;
    return;
  }
  if (step.data_seconds &&
      !(*step.data_seconds >= 0 && *step.data_seconds <= step.seconds * 1.05)) {
    step.data_seconds.reset();
  }
  if (step.rate && !(*step.rate > 0 && std::isfinite(*step.rate))) step.rate.reset();
  if (rank && !rank_) rank_ = rank;
  if (steps_.size() == most_entries) halve();
  last_index_ = step.index;
  steps_.push_back(step);
}

std::int64_t StepCollector::since_last(std::int64_t index) const {
  return steps_.empty() || index <= last_index_ ? 1 : index - last_index_;
}

void StepCollector::halve() {
  std::size_t to = 0;
  for (std::size_t from = 0; from < steps_.size(); from += 2, ++to) {
    LoggedStep out = steps_[from];
    if (from + 1 < steps_.size()) {
      const LoggedStep& next = steps_[from + 1];
      const double share =
          static_cast<double>(out.covers) / static_cast<double>(out.covers + next.covers);
      out.seconds = out.seconds * share + next.seconds * (1 - share);
      out.data_seconds = joined(out.data_seconds, next.data_seconds, share);
      out.rate = joined(out.rate, next.rate, share);
      out.loss = next.loss ? next.loss : out.loss;
      out.covers += next.covers;
      out.index = next.index;
    }
    steps_[to] = out;
  }
  steps_.resize(to);
  ++halvings_;
}

void StepCollector::finish(StepLog& log) {
  log.steps = std::exchange(steps_, {});
  if (other_ranks_ > 0) {
    log.skipped.push_back(fmt::format(
        "{} lines that repeat a step: further ranks, or a bar drawn again", other_ranks_));
  }
  if (unreadable_ > 0) log.skipped.push_back(fmt::format("{} steps without a time", unreadable_));
  if (halvings_ > 0) {
    log.skipped.push_back(fmt::format("no step: a long run, means over {} entries each",
                                      std::int64_t{1} << halvings_));
  }
}

}  // namespace stepsight
