#include "model/io/logs/hf_trainer.h"

#include <cmath>
#include <utility>

#include "model/io/log_text.h"
#include "model/io/logs/log_fields.h"

namespace stepsight {

namespace {

void keep(std::optional<std::int64_t>& into, std::optional<std::int64_t> value) {
  if (value && *value > 0) into = value;
}

void keep(std::optional<double>& into, std::optional<double> value) {
  if (value && *value > 0) into = value;
}

// The quoted text behind a key: "elapsed_time": "0:01:10".
std::optional<std::string_view> quoted_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t colon = line.find(':', at + key.size());
  if (colon == std::string_view::npos) return std::nullopt;
  const std::size_t open = line.find('"', colon);
  if (open == std::string_view::npos) return std::nullopt;
  const std::size_t close = line.find('"', open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return line.substr(open + 1, close - open - 1);
}

bool near(double a, double b) {
  return std::abs(a / b - 1) < 0.03;
}

}  // namespace

void HfTrainerLog::read_header(std::string_view line) {
  LogFacts& facts = log_.facts;
  keep(facts.gpu_batch, count_after(line, "Instantaneous batch size per device"));
  keep(facts.global_batch,
       count_after(line, "Total train batch size (w. parallel, distributed & accumulation)"));
  keep(facts.accumulation, count_after(line, "Gradient Accumulation steps"));
  keep(log_.run_steps, count_after(line, "Total optimization steps"));
  keep(facts.parameters, count_after(line, "Number of trainable parameters"));
  seen_ = seen_ || line.find("Running training") != std::string_view::npos;
}

void HfTrainerLog::read_summary(std::string_view line) {
  if (line.find("train_") == std::string_view::npos &&
      line.find("global_step") == std::string_view::npos) {
    return;
  }
  keep(log_.run_seconds, value_after(line, "train_runtime"));
  keep(log_.run_samples_per_s, value_after(line, "train_samples_per_second"));
  keep(steps_per_s_, value_after(line, "train_steps_per_second"));
  keep(log_.facts.gpu_batch, count_after(line, "train_batch_size"));
  keep(log_.run_steps, count_after(line, "global_step"));
  seen_ =
      seen_ || log_.run_seconds.has_value() || line.find("train_loss") != std::string_view::npos;
}

void HfTrainerLog::read_progress(std::string_view line) {
  const auto step = count_after(line, "current_steps");
  const auto text = quoted_after(line, "elapsed_time");
  const auto elapsed = text ? clock_seconds(*text) : std::nullopt;
  if (!step || !elapsed) return;
  seen_ = true;
  if (*step < last_step_ || *elapsed < last_elapsed_)
    last_step_ = 0, last_elapsed_ = 0;  // started anew
  const std::int64_t steps = *step - last_step_;
  const double seconds = *elapsed - last_elapsed_;
  // The clock has whole seconds: short stretches are joined until it can be read.
  if (steps == 0 || seconds < 20) return;
  LoggedStep logged{
      *step, steps, seconds / static_cast<double>(steps), {}, {}, value_after(line, "loss")};
  if (const auto rate = value_after(line, "throughput")) {
    logged.rate = rate;
    log_.rate_unit = RateUnit::tokens;
    log_.rate_scope = RateScope::whole_job;
  }
  steps_.add(logged);
  last_step_ = *step;
  last_elapsed_ = *elapsed;
}

void HfTrainerLog::line(std::string_view line) {
  if (line.find('=') != std::string_view::npos || line.find("*****") != std::string_view::npos) {
    read_header(line);
  }
  read_summary(line);
  if (line.find("current_steps") != std::string_view::npos) read_progress(line);
}

void HfTrainerLog::check_rates() {
  if (!log_.run_seconds || !log_.run_steps) return;
  const double steps_per_s = static_cast<double>(*log_.run_steps) / *log_.run_seconds;
  if (!log_.run_samples_per_s || !near(*log_.run_samples_per_s, steps_per_s)) return;
  if (log_.facts.global_batch == 1) return;
  if (log_.facts.global_batch) {
    log_.run_samples_per_s = steps_per_s * static_cast<double>(*log_.facts.global_batch);
    log_.doubts.emplace_back(
        "train_samples_per_second holds steps a second (an error of old versions): taken times the "
        "batch");
  } else {
    log_.run_samples_per_s.reset();
    log_.doubts.emplace_back(
        "train_samples_per_second equals steps a second: an error of old versions, or a batch of "
        "1; "
        "left out");
  }
}

StepLog HfTrainerLog::finish() {
  if (!seen_) return {};
  log_.format = "Hugging Face Trainer";
  LogFacts& f = log_.facts;
  if (f.gpu_batch && f.global_batch) {
    const std::int64_t each = *f.gpu_batch * f.accumulation.value_or(1);
    if (each > 0 && *f.global_batch % each == 0) f.gpus = *f.global_batch / each;
  }
  if (!log_.run_steps && steps_per_s_ && log_.run_seconds) {
    const double steps = std::round(*steps_per_s_ * *log_.run_seconds);
    if (steps >= 1 && steps < 1e12) log_.run_steps = static_cast<std::int64_t>(steps);
  }
  check_rates();
  steps_.finish(log_);
  if (log_.steps.empty() && log_.run_seconds && log_.run_steps) {
    StepCollector whole;
    whole.add({*log_.run_steps,
               *log_.run_steps,
               *log_.run_seconds / static_cast<double>(*log_.run_steps),
               {},
               {},
               {}});
    whole.finish(log_);
    log_.doubts.emplace_back(
        "only the whole run is timed: warm-up, evaluation and checkpoints are in it");
  }
  return std::exchange(log_, {});
}

}  // namespace stepsight
