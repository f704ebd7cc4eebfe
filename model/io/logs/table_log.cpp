#include "model/io/logs/table_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "model/io/log_text.h"
#include "model/io/logs/log_fields.h"

namespace stepsight {

namespace {

constexpr std::size_t most_columns = 256;
constexpr std::size_t most_rows = 10'000;

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : trimmed(text)) {
    if (c == '"' || c == '*' || c == '`') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == ' ' ? '_' : c;
  }
  return out;
}

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  line = trimmed(line);
  if (separator == '|') {
    if (line.starts_with('|')) line.remove_prefix(1);
    if (line.ends_with('|')) line.remove_suffix(1);
  }
  return split(line, separator);
}

bool is_rule(const std::vector<std::string_view>& cells) {
  return std::ranges::all_of(cells, [](std::string_view cell) {
    return cell.find_first_not_of(" :-\t") == std::string_view::npos;
  });
}

}  // namespace

TableLog::Reading TableLog::reading_of(std::string_view header) {
  const std::string name = lower(header);
  Reading out;
  constexpr std::array<std::string_view, 8> step{
      "step", "steps", "iteration", "iter", "global_step", "batch_idx", "update", "it"};
  constexpr std::array<std::string_view, 9> gpus{"gpus",
                                                 "#_gpus",
                                                 "num_gpu",
                                                 "num_gpus",
                                                 "n_gpus",
                                                 "#gpus",
                                                 "gpu_count",
                                                 "world_size",
                                                 "cards"};
  constexpr std::array<std::string_view, 14> seconds{"step_time_s",
                                                     "seconds",
                                                     "time_s",
                                                     "sec/it",
                                                     "s/it",
                                                     "sec/iter",
                                                     "s/iter",
                                                     "iter_time",
                                                     "step_time",
                                                     "time_per_step",
                                                     "sec/step",
                                                     "s/step",
                                                     "train_step_timing_in_s",
                                                     "time_(s)"};
  constexpr std::array<std::string_view, 8> milliseconds{"ms",
                                                         "step_time_ms",
                                                         "ms/step",
                                                         "ms/it",
                                                         "ms/iter",
                                                         "time_ms",
                                                         "time_(ms)",
                                                         "step_time_(ms)"};
  constexpr std::array<std::string_view, 5> steps_per_second{
      "it/s", "iter/s", "steps/s", "its/s", "steps_per_second"};
  if (is_one_of(name, step)) out.column = Column::step;
  if (name == "epoch") out.column = Column::step, out.epoch = true;
  if (is_one_of(name, gpus)) out.column = Column::gpus;
  if (is_one_of(name, seconds)) out.column = Column::time;
  if (is_one_of(name, milliseconds)) out.column = Column::time, out.factor = 1e-3;
  if (is_one_of(name, steps_per_second)) out.column = Column::time, out.inverse = true;
  if (name == "time")
    out.column = Column::time, out.cumulative = true;  // decided by the epochs beside it
  if (name == "data_time" || name == "data_time_s" || name == "data") out.column = Column::data;
  if (name == "loss" || name == "train_loss") out.column = Column::loss;
  const bool batch = has(name, "batch");
  if (batch &&
      (has(name, "/_gpu") || has(name, "/gpu") || has(name, "per_gpu") || has(name, "micro"))) {
    out.column = Column::gpu_batch;
  } else if (batch && has(name, "global")) {
    out.column = Column::global_batch;
  } else if (name == "gbs") {
    out.column = Column::global_batch;
  } else if (name == "mbs") {
    out.column = Column::gpu_batch;
  }
  const bool rate = has(name, "throughput") || has(name, "samples/s") || has(name, "img/s") ||
                    has(name, "tokens/s") || has(name, "tok/s") || has(name, "tps") ||
                    has(name, "images/s") || has(name, "samples_per_s");
  if (rate && out.column == Column::none) {
    out.column = Column::rate;
    out.per_gpu = has(name, "/gpu") || has(name, "per_gpu");
    out.tokens = has(name, "tok") || has(name, "tps") || has(name, "t/s");
  }
  return out;
}

bool TableLog::read_header(const std::vector<std::string_view>& cells, char separator) {
  if (cells.size() < 2 || cells.size() > most_columns) return false;
  std::vector<Reading> columns;
  std::array<int, 9> count{};
  for (const std::string_view cell : cells) {
    columns.push_back(reading_of(cell));
    // Of several columns of one kind the first counts.
    if (++count[static_cast<std::size_t>(columns.back().column)] > 1)
      columns.back().column = Column::none;
  }
  const auto n = [&](Column c) { return count[static_cast<std::size_t>(c)] > 0; };
  const bool timed = n(Column::time) || n(Column::rate);
  if (!timed || (!n(Column::step) && !n(Column::gpus))) return false;
  columns_ = std::move(columns);
  separator_ = separator;
  scaling_ = n(Column::gpus) && !n(Column::step);
  return true;
}

void TableLog::add_row(const std::vector<std::optional<double>>& values) {
  ScalingRow row;
  LoggedStep step;
  std::optional<double> time;
  bool cumulative = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!values[i]) continue;
    const Reading& r = columns_[i];
    const double v = *values[i];
    const auto count = static_cast<std::int64_t>(v >= 0 && v < 9e15 ? v : 0);
    switch (r.column) {
      case Column::step:
        step.index = count;
        break;
      case Column::gpus:
        row.gpus = count;
        break;
      case Column::time:
        time = r.inverse ? (v > 0 ? 1 / v : 0) : v * r.factor;
        cumulative = r.cumulative;
        break;
      case Column::rate:
        step.rate = row.rate = v;
        log_.rate_unit = r.tokens ? RateUnit::tokens : RateUnit::samples;
        log_.rate_scope = r.per_gpu ? RateScope::each_gpu : RateScope::whole_job;
        break;
      case Column::data:
        step.data_seconds = v;
        break;
      case Column::loss:
        step.loss = v;
        break;
      case Column::gpu_batch:
        if (count > 0) row.gpu_batch = count;
        break;
      case Column::global_batch:
        if (count > 0) row.global_batch = count;
        break;
      case Column::none:
        break;
    }
  }
  if (scaling_) {
    if (row.rate && log_.rate_scope == RateScope::each_gpu)
      *row.rate *= static_cast<double>(row.gpus);
    if (time && *time > 0) row.seconds = time;
    if (row.rate && !(*row.rate > 0 && std::isfinite(*row.rate))) row.rate.reset();
    if (row.gpus > 0 && (row.seconds || row.rate) && log_.rows.size() < most_rows)
      log_.rows.push_back(row);
    return;
  }
  if (!time) return;
  if (cumulative) {
    const std::int64_t steps = step.index - clock_step_;
    const double seconds = *time - clock_;
    const bool first = rows_++ == 0;
    clock_ = *time;
    clock_step_ = step.index;
    if (first || steps <= 0) return;
    time = seconds / static_cast<double>(steps);
    step.covers = steps;
  } else {
    step.covers = steps_.since_last(step.index);
  }
  step.seconds = *time;
  steps_.add(step);
}

void TableLog::read_row(const std::vector<std::string_view>& cells) {
  if (is_rule(cells)) return;
  std::vector<std::optional<double>> values;
  bool any = false;
  for (const std::string_view cell : cells) {
    const auto number = leading_number(trimmed(cell));
    values.push_back(number ? std::optional(number->value) : std::nullopt);
    any = any || number;
  }
  if (any) {
    add_row(values);
  } else {
    ++unread_;
  }
}

void TableLog::line(std::string_view line) {
  const char separator = line.find('|') != std::string_view::npos    ? '|'
                         : line.find(',') != std::string_view::npos  ? ','
                         : line.find('\t') != std::string_view::npos ? '\t'
                                                                     : '\0';
  if (separator == '\0') return;
  if (!columns_.empty() && separator == separator_) {
    const auto cells = cells_of(line, separator);
    if (cells.size() == columns_.size()) return read_row(cells);
    return;
  }
  if (columns_.empty()) read_header(cells_of(line, separator), separator);
}

StepLog TableLog::finish() {
  steps_.finish(log_);
  if (log_.steps.empty() && log_.rows.empty()) return {};
  log_.format = separator_ == '|' ? "Markdown table" : "CSV table";
  if (std::ranges::any_of(columns_, &Reading::epoch)) log_.unit = "epoch";
  if (unread_ > 0) log_.skipped.push_back(fmt::format("{} rows without a number", unread_));
  return std::exchange(log_, {});
}

}  // namespace stepsight
