#include "model/io/logs/megatron.h"

#include <utility>

#include "model/io/log_text.h"
#include "model/io/logs/log_fields.h"

namespace stepsight {

namespace {

std::optional<std::int64_t> scaled_count(std::string_view line, std::string_view key) {
  const auto number = number_after(line, key);
  if (!number) return std::nullopt;
  const double value = number->value * suffix_factor(number->unit);
  if (!(value >= 1) || value > 9e15) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<double> scaled_value(std::string_view line, std::string_view key) {
  const auto number = number_after(line, key);
  return number ? std::optional(number->value * suffix_factor(number->unit)) : std::nullopt;
}

}  // namespace

bool MegatronLog::read_iteration(std::string_view line) {
  const std::size_t at = line.find("iteration ");
  if (at == std::string_view::npos) return false;
  const auto progress = progress_of(line.substr(at + 10));
  if (!progress) return false;
  auto seconds = value_after(line, "elapsed time per iteration (s)");
  if (const auto ms = value_after(line, "elapsed time per iteration (ms)")) seconds = *ms * 1e-3;
  if (!seconds) return false;
  LoggedStep step{progress->first,
                  steps_.since_last(progress->first),
                  *seconds,
                  {},
                  {},
                  value_after(line, "lm loss")};
  if (const auto rate = value_after(line, "samples per second")) {
    step.rate = rate;
    log_.rate_unit = RateUnit::samples;
    log_.rate_scope = RateScope::whole_job;
  }
  if (const auto batch = count_after(line, "global batch size")) log_.facts.global_batch = batch;
  if (log_.format.empty()) {
    log_.format = line.find("consumed tokens") == std::string_view::npos ? "Megatron-LM"
                                                                         : "Megatron-DeepSpeed";
  }
  steps_.add(step, rank_prefix(line));
  return true;
}

bool MegatronLog::read_nemo(std::string_view line) {
  const auto seconds = value_after(line, "train_step_timing in s");
  if (!seconds) return false;
  auto index = scaled_count(line, "global_step");
  if (!index) index = 0;
  if (const auto batch = count_after(line, "global_batch_size")) log_.facts.global_batch = batch;
  LoggedStep step{
      *index, steps_.since_last(*index), *seconds, {}, {}, value_after(line, "reduced_train_loss")};
  if (log_.format.empty()) log_.format = "NeMo";
  steps_.add(step, rank_prefix(line));
  return true;
}

bool MegatronLog::read_nanotron(std::string_view line) {
  const auto ms = scaled_value(line, "time_per_iteration_ms");
  const auto index = count_after(line, "iteration");
  if (!ms || !index) return false;
  LoggedStep step{
      *index, steps_.since_last(*index), *ms * 1e-3, {}, {}, value_after(line, "lm_loss")};
  if (const auto tokens = scaled_value(line, "tokens_per_sec")) {
    step.rate = tokens;
    log_.rate_unit = RateUnit::tokens;
    log_.rate_scope = RateScope::whole_job;
    const auto each = scaled_value(line, "tokens_per_sec_per_gpu");
    if (each && *each > 0 && *tokens / *each < 1e7) {
      log_.facts.gpus = static_cast<std::int64_t>(*tokens / *each + 0.5);
    }
  }
  if (const auto batch = scaled_count(line, "global_batch_size")) log_.facts.tokens = batch;
  if (log_.format.empty()) log_.format = "nanotron";
  steps_.add(step, rank_prefix(line));
  return true;
}

void MegatronLog::read_argument(std::string_view name, std::string_view value) {
  const auto number = number_of(value);
  if (!number || *number < 1 || *number > 9e15) return;
  const auto count = static_cast<std::int64_t>(*number);
  if (name == "world_size") world_ = count;
  if (name == "tensor_model_parallel_size") tensor_ = count;
  if (name == "pipeline_model_parallel_size") pipeline_ = count;
  if (name == "micro_batch_size") micro_batch_ = count;
  if (name == "global_batch_size") log_.facts.global_batch = count;
  if (name == "seq_length") log_.facts.seq = count;
  if (name == "num_layers") log_.facts.layers = count;
  if (name == "hidden_size") log_.facts.hidden = count;
}

// "    forward-backward ......: (5012.33, 5020.10)" or "  micro_batch_size ........ 4".
void MegatronLog::read_dotted(std::string_view line) {
  const std::size_t dots = line.find(" ....");
  if (dots == std::string_view::npos) return;
  std::string_view name = trimmed(line.substr(0, dots));
  name.remove_prefix(
      name.find_last_of(" \t") == std::string_view::npos ? 0 : name.find_last_of(" \t") + 1);
  std::string_view value = line.substr(dots + 1);
  value.remove_prefix(std::min(value.find_first_not_of('.'), value.size()));
  if (!value.starts_with(':')) return read_argument(name, trimmed(value));
  const auto least = leading_number(value.substr(1));
  if (!least || !least->rest.starts_with(',')) return;
  const auto most = leading_number(least->rest.substr(1));
  if (most) parts_.add(name, least->value * 1e-3, most->value * 1e-3);
}

void MegatronLog::line(std::string_view line) {
  if (line.find("....") != std::string_view::npos) return read_dotted(line);
  if (line.find("iteration") != std::string_view::npos &&
      (read_iteration(line) || read_nanotron(line)))
    return;
  if (line.find("train_step_timing") != std::string_view::npos) read_nemo(line);
}

StepLog MegatronLog::finish() {
  log_.parts = parts_.parts();
  if (steps_.empty() && log_.parts.empty()) return {};
  if (log_.format.empty()) log_.format = "Megatron-LM";
  LogFacts& f = log_.facts;
  if (world_) f.gpus = world_;
  if (micro_batch_) f.gpu_batch = micro_batch_;
  if (f.gpus && f.gpu_batch && f.global_batch) {
    const std::int64_t split = tensor_.value_or(1) * pipeline_.value_or(1);
    const std::int64_t ranks = split > 0 ? *f.gpus / split : 0;
    if (ranks > 0 && *f.global_batch % (ranks * *f.gpu_batch) == 0) {
      f.accumulation = *f.global_batch / (ranks * *f.gpu_batch);
    }
  }
  steps_.finish(log_);
  return std::exchange(log_, {});
}

}  // namespace stepsight
