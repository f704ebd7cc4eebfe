#include "model/io/logs/deepspeed.h"

#include <utility>

#include "model/io/log_text.h"
#include "model/io/logs/log_fields.h"

namespace stepsight {

void DeepspeedLog::read_throughput(std::string_view line) {
  const auto step = count_after(line, "global_step");
  const auto rate = value_after(line, "CurrSamplesPerSec");
  if (!step || !rate || !(*rate > 0)) return;
  rate_sum_ += *rate;
  ++rates_;
  const auto stamp = time_stamp(line);
  const std::int64_t steps = *step - last_step_;
  if (stamp && last_stamp_ && steps > 0 && *stamp > *last_stamp_) {
    by_clock_.add(
        {*step, steps, (*stamp - *last_stamp_) / static_cast<double>(steps), {}, rate, {}},
        rank_prefix(line));
  }
  if (!last_stamp_ || steps > 0) {
    last_stamp_ = stamp;
    last_step_ = *step;
  }
}

void DeepspeedLog::read_timers(std::string_view line) {
  const std::size_t at = line.find("time (ms) |");
  if (at == std::string_view::npos) return;
  double step = 0;
  int whole = 0;  // of forward, backward and update of a whole step
  for (const std::string_view cell : split(line.substr(at + 11), '|')) {
    const std::size_t colon = cell.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = trimmed(cell.substr(0, colon));
    const auto ms = number_of(trimmed(cell.substr(colon + 1)));
    if (!ms) continue;
    parts_.add(name, *ms * 1e-3, *ms * 1e-3);
    if (name == "fwd" || name == "bwd" || name == "step" || name == "forward" ||
        name == "backward") {
      step += *ms * 1e-3;
      ++whole;
    }
  }
  if (whole == 3) by_timers_.add({++timed_, 1, step, {}, {}, {}}, rank_prefix(line));
}

// "[config.py:1001:print]   train_batch_size ............. 256"
void DeepspeedLog::read_config(std::string_view line) {
  const std::size_t dots = line.find(" ...");
  if (dots == std::string_view::npos) return;
  const std::string_view before = line.substr(0, dots);
  std::string_view value = line.substr(dots + 1);
  value.remove_prefix(std::min(value.find_first_not_of('.'), value.size()));
  const auto number = number_of(trimmed(value));
  if (!number || *number < 1 || *number > 9e15) return;
  const auto count = static_cast<std::int64_t>(*number);
  if (before.ends_with(" train_batch_size")) log_.facts.global_batch = count;
  if (before.ends_with(" train_micro_batch_size_per_gpu")) log_.facts.gpu_batch = count;
  if (before.ends_with(" gradient_accumulation_steps")) log_.facts.accumulation = count;
  if (before.ends_with(" world_size")) log_.facts.gpus = count;
}

void DeepspeedLog::line(std::string_view line) {
  if (line.find("CurrSamplesPerSec") != std::string_view::npos) read_throughput(line);
  if (line.find("time (ms)") != std::string_view::npos) read_timers(line);
  if (line.find("print]") != std::string_view::npos) read_config(line);
}

StepLog DeepspeedLog::finish() {
  log_.parts = parts_.parts();
  if (log_.parts.empty() && rates_ == 0) return {};
  log_.format = "DeepSpeed";
  LogFacts& f = log_.facts;
  if (f.gpu_batch && f.global_batch && !f.gpus) {
    const std::int64_t each = *f.gpu_batch * f.accumulation.value_or(1);
    if (each > 0 && *f.global_batch % each == 0) f.gpus = *f.global_batch / each;
  }
  if (rates_ > 0) {
    // DeepSpeed multiplies by the batch of all ranks.
    log_.rate_unit = RateUnit::samples;
    log_.rate_scope = RateScope::whole_job;
    log_.run_samples_per_s = rate_sum_ / static_cast<double>(rates_);
  }
  if (!by_clock_.empty()) {
    by_clock_.finish(log_);
  } else {
    by_timers_.finish(log_);
    if (!log_.steps.empty()) {
      log_.doubts.emplace_back(
          "a step is taken as forward, backward and update by DeepSpeed's timers; "
          "the data loader is not in it");
    }
  }
  return std::exchange(log_, {});
}

}  // namespace stepsight
