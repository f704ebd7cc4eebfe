// Where a log's reader puts its steps: what is no time is refused, repetitions by further ranks are
// counted apart, and a run of any length fits into bounded memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/step_log.h"

namespace stepsight {

class StepCollector {
 public:
  // Above this number neighbours are joined two by two: means over what they cover.
  static constexpr std::size_t most_entries = 1 << 17;

  // A step that repeats the last index, or is printed by another rank than the first step was,
  // counts as a further rank's. Times that are not above 0 or beyond ten years are counted as
  // unreadable.
  void add(LoggedStep step, std::optional<std::int64_t> rank = {});

  // Counts a line that repeats a step and has no time of its own.
  void note_repeat() { ++other_ranks_; }

  // How far `index` is from the last one, for means since then; 1 for the first and when it
  // restarts.
  [[nodiscard]] std::int64_t since_last(std::int64_t index) const;
  [[nodiscard]] bool empty() const { return steps_.empty(); }

  // The steps into `log`, with what was left out; nothing stays here.
  void finish(StepLog& log);

 private:
  void halve();

  std::vector<LoggedStep> steps_;
  std::optional<std::int64_t> rank_;
  std::int64_t last_index_ = 0;
  std::int64_t other_ranks_ = 0;
  std::int64_t unreadable_ = 0;
  int halvings_ = 0;
};

}  // namespace stepsight
