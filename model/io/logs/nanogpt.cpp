#include "model/io/logs/nanogpt.h"

#include <utility>

#include "model/io/log_text.h"
#include "model/io/logs/log_fields.h"

namespace stepsight {

namespace {

// The number behind a word wherever it stands: "iter 1631:".
std::optional<std::int64_t> index_after(std::string_view line, std::string_view word) {
  const auto number = number_after(line, word);
  if (!number || number->value < 0 || number->value > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(number->value);
}

// "| 173.42 ms |": the cell between bars that is a time and nothing else.
std::optional<double> time_cell(std::string_view line) {
  for (const std::string_view cell : split(line, '|')) {
    const auto number = leading_number(cell);
    if (number && number->unit == "ms" && trimmed(number->rest) == "ms")
      return number->value * 1e-3;
  }
  return std::nullopt;
}

// The number before a word: "3021874 tok/s", "44.9% bf16 MFU".
std::optional<double> number_before(std::string_view line, std::string_view word) {
  for (const std::string_view cell : split(line, '|')) {
    if (cell.find(word) == std::string_view::npos) continue;
    if (const auto number = leading_number(cell)) return number->value;
  }
  return std::nullopt;
}

}  // namespace

void NanogptLog::add(std::int64_t index,
                     double seconds,
                     std::string_view line,
                     const char* format) {
  LoggedStep step{index, 1, seconds, {}, {}, value_after(line, "loss")};
  auto tokens = value_after(line, "tok/sec");
  if (!tokens) tokens = number_before(line, "tok/s");
  if (tokens) {
    step.rate = tokens;
    log_.rate_unit = RateUnit::tokens;
    log_.rate_scope = RateScope::whole_job;
  }
  auto mfu = value_after(line, "mfu");
  if (!mfu) mfu = value_after(line, "bf16_mfu");
  if (!mfu) mfu = number_before(line, "MFU");
  if (mfu && *mfu > 0 && *mfu <= 100) mfu_sum_ += *mfu / 100, ++mfu_count_;
  if (log_.format.empty()) log_.format = format;
  steps_.add(step, rank_prefix(line));
}

bool NanogptLog::read_iter(std::string_view line) {
  const auto index = index_after(line, "iter");
  if (!index) return false;
  if (const auto seconds = seconds_after(line, "iter time", 1e-3)) {
    log_.unit = "micro-step";
    add(*index, *seconds, line, "litgpt");
    return true;
  }
  const auto number = number_after(line, "time");
  if (!number || number->unit != "ms" || line.find("loss") == std::string_view::npos) return false;
  add(*index, number->value * 1e-3, line, "nanoGPT");
  return true;
}

bool NanogptLog::read_bars(std::string_view line) {
  if (line.find('|') == std::string_view::npos) return false;
  const std::size_t at = line.find("step ");
  if (at == std::string_view::npos) return false;
  const auto progress = progress_of(line.substr(at + 5));
  if (!progress) return false;
  if (const auto number = number_after(line, "dt"); number && number->unit == "ms") {
    add(progress->first, number->value * 1e-3, line, "nanochat");
  } else if (const auto seconds = time_cell(line)) {
    add(progress->first, *seconds, line, "llm.c");
  } else {
    return false;
  }
  return true;
}

bool NanogptLog::read_modded(std::string_view line) {
  if (!line.starts_with("step:") || line.find("train_time") == std::string_view::npos) return false;
  const auto progress = progress_of(line.substr(5));
  const auto time = seconds_after(line, "train_time", 1e-3);
  if (!progress || !time) return false;
  // The clock runs from the start of training and stands still during validation.
  const std::int64_t steps = progress->first - train_step_;
  const double seconds = *time - train_time_;
  train_step_ = progress->first;
  train_time_ = *time;
  if (steps <= 0 || seconds <= 0 || steps == progress->first) return true;
  LoggedStep step{progress->first, steps, seconds / static_cast<double>(steps), {}, {}, {}};
  step.loss = value_after(line, "train_loss");
  if (log_.format.empty()) log_.format = "modded-nanogpt";
  steps_.add(step, rank_prefix(line));
  return true;
}

void NanogptLog::line(std::string_view line) {
  if (const auto tokens = count_after(line, "tokens per iteration will be"))
    log_.facts.tokens = tokens;
  if (line.find("iter") != std::string_view::npos && read_iter(line)) return;
  if (line.find("step") == std::string_view::npos) return;
  if (!read_bars(line)) read_modded(line);
}

StepLog NanogptLog::finish() {
  if (steps_.empty()) return {};
  if (mfu_count_ > 0) log_.facts.mfu = mfu_sum_ / static_cast<double>(mfu_count_);
  steps_.finish(log_);
  return std::exchange(log_, {});
}

}  // namespace stepsight
