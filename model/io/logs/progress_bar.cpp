#include "model/io/logs/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "model/io/log_text.h"
#include "model/io/logs/log_fields.h"

namespace stepsight {

namespace {

struct BarLine {
  std::string_view description;
  std::int64_t done = 0;
  std::int64_t total = 0;
  double elapsed = 0;  // s
  double seconds = 0;  // of a step
};

bool is_step_unit(std::string_view unit) {
  constexpr std::array<std::string_view, 7> units{
      "it", "iter", "step", "steps", "batch", "batches", "b"};
  return std::ranges::find(units, unit) != units.end();
}

// "7.02s/it" or "3.52it/s".
std::optional<double> step_seconds(std::string_view rate) {
  const auto number = leading_number(rate);
  if (!number || !(number->value > 0)) return std::nullopt;
  const std::string_view unit = number->unit;
  if (unit.starts_with("s/"))
    return is_step_unit(unit.substr(2)) ? std::optional(number->value) : std::nullopt;
  if (unit.ends_with("/s") && is_step_unit(unit.substr(0, unit.size() - 2)))
    return 1 / number->value;
  return std::nullopt;
}

std::optional<BarLine> bar_line(std::string_view line) {
  for (std::size_t open = line.find('['); open != std::string_view::npos;
       open = line.find('[', open + 1)) {
    const std::string_view inside = line.substr(open + 1);
    const std::size_t less = inside.find('<');
    const std::size_t comma = inside.find(',');
    if (less == std::string_view::npos || comma == std::string_view::npos || comma < less ||
        less > 24)
      continue;
    const auto elapsed = clock_seconds(inside.substr(0, less));
    if (!elapsed) continue;
    // "1 day, 2:09:41" has a comma of its own in what remains.
    std::string_view rate = inside.substr(comma + 1);
    if (inside.substr(less, comma - less).find("day") != std::string_view::npos) {
      const std::size_t next = rate.find(',');
      if (next == std::string_view::npos) continue;
      rate = rate.substr(next + 1);
    }
    const auto seconds = step_seconds(rate);
    if (!seconds) continue;
    std::string_view before = trimmed(line.substr(0, open));
    const std::size_t begin = before.find_last_of("| \t:");
    const auto progress =
        progress_of(begin == std::string_view::npos ? before : before.substr(begin + 1));
    if (!progress) continue;
    return BarLine{line.substr(0, open), progress->first, progress->second, *elapsed, *seconds};
  }
  return std::nullopt;
}

bool is_training(std::string_view description) {
  constexpr std::array<std::string_view, 13> others{"alidat",
                                                    "Sanity",
                                                    "Class ",
                                                    "Map",
                                                    "Load",
                                                    "Downloading",
                                                    "okeniz",
                                                    "Generat",
                                                    "Eval",
                                                    "eval",
                                                    "Predict",
                                                    "Testing",
                                                    "Filter"};
  return std::ranges::none_of(others, [&](std::string_view word) {
    return description.find(word) != std::string_view::npos;
  });
}

}  // namespace

ProgressBarLog::Bar* ProgressBarLog::bar_of(std::int64_t total) {
  for (std::size_t i = 0; i < used_; ++i) {
    if (bars_[i].total == total) return &bars_[i];
  }
  if (used_ == bars_.size()) return nullptr;
  bars_[used_].total = total;
  return &bars_[used_++];
}

void ProgressBarLog::line(std::string_view line) {
  const auto read = bar_line(line);
  if (!read || read->done == 0) return;
  Bar* const bar = is_training(read->description) ? bar_of(read->total) : nullptr;
  if (bar == nullptr) {
    ++passed_over_;
    return;
  }
  lightning_ = lightning_ || line.find("v_num") != std::string_view::npos;
  ultralytics_ = ultralytics_ || read->description.find("G  ") != std::string_view::npos;
  const bool begins = bar->last == 0 || read->done < bar->last;
  if (begins && bar->last > 0) bar->base += bar->last;
  if (begins) bar->elapsed = 0;
  bar->seconds += std::max(0.0, read->elapsed - bar->elapsed);
  bar->elapsed = read->elapsed;
  LoggedStep step;
  step.index = bar->base + read->done;
  step.covers = std::max<std::int64_t>(1, read->done - (begins ? 0 : bar->last));
  step.seconds = read->seconds;
  // The first line of a bar speaks for all steps before it only where its rate is their mean.
  const double mean = read->elapsed / static_cast<double>(read->done);
  if (begins && std::abs(mean / read->seconds - 1) > 0.05) step.covers = 1;
  bar->last = read->done;
  bar->steps.add(step, rank_prefix(line));
}

StepLog ProgressBarLog::finish() {
  StepLog log;
  if (used_ == 0) return log;
  Bar& longest =
      *std::max_element(bars_.begin(),
                        bars_.begin() + static_cast<std::ptrdiff_t>(used_),
                        [](const Bar& a, const Bar& b) { return a.seconds < b.seconds; });
  log.format = lightning_     ? "Lightning's bar"
               : ultralytics_ ? "Ultralytics' bar"
                              : "progress bar (tqdm)";
  if (lightning_) log.rate_scope = RateScope::each_gpu;
  longest.steps.finish(log);
  if (passed_over_ > 0) {
    log.skipped.push_back(
        fmt::format("lines of other bars (validation, downloads): {}", passed_over_));
  }
  if (used_ > 1) log.skipped.push_back(fmt::format("other bars that ran shorter: {}", used_ - 1));
  double covered = 0;
  double shown = 0;
  for (const LoggedStep& s : log.steps) {
    covered += static_cast<double>(s.covers);
    shown += s.seconds * static_cast<double>(s.covers);
  }
  const double whole = longest.seconds / static_cast<double>(longest.base + longest.last);
  if (longest.seconds > 120 && covered > 0 && whole > 1.2 * shown / covered) {
    log.doubts.push_back(fmt::format(
        "by its clock the bar took {:.3g} s a step, by its rates {:.3g} s: pauses between them",
        whole,
        shown / covered));
  }
  return log;
}

}  // namespace stepsight
