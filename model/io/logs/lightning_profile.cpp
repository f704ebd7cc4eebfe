#include "model/io/logs/lightning_profile.h"

#include <utility>

#include "model/io/log_text.h"

namespace stepsight {

namespace {

constexpr std::size_t most_rows = 400;

// What a batch costs, by the names of both major versions.
bool is_batch(std::string_view action) {
  return action == "run_training_batch" || action.ends_with(".run_training_batch");
}

}  // namespace

void LightningProfileLog::line(std::string_view line) {
  if (line.find('|') == std::string_view::npos) return;
  if (line.find("Mean duration (s)") != std::string_view::npos) in_table_ = true;
  if (!in_table_ || log_.parts.size() == most_rows) return;
  const auto cells = split(line, '|');
  if (cells.size() < 4) return;
  const std::string_view action = trimmed(cells[0]);
  const auto mean = number_of(trimmed(cells[1]));
  const auto calls = number_of(trimmed(cells[2]));
  if (!mean || !calls || !(*mean >= 0) || !(*calls >= 1) || *calls > 1e12 || *mean > 1e9) return;
  const auto count = static_cast<std::int64_t>(*calls);
  log_.parts.push_back({std::string(action), *mean, *mean, *mean, count});
  if (is_batch(action) && *mean > 0 && log_.steps.empty()) {
    log_.steps.push_back({count, std::min<std::int64_t>(count, 1'000'000'000), *mean, {}, {}, {}});
  }
}

StepLog LightningProfileLog::finish() {
  if (log_.parts.empty()) return {};
  log_.format = "Lightning's profiler";
  return std::exchange(log_, {});
}

}  // namespace stepsight
