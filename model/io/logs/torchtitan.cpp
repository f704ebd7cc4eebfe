#include "model/io/logs/torchtitan.h"

#include <cmath>
#include <utility>

#include "model/io/log_text.h"
#include "model/io/logs/log_fields.h"

namespace stepsight {

bool TorchtitanLog::read_titan(std::string_view line) {
  const auto step = count_after(line, "step");
  const auto tps = value_after(line, "tps");
  if (!step || !tps || !(*tps > 0)) return false;
  log_.format = "torchtitan";
  log_.rate_unit = RateUnit::tokens;
  log_.rate_scope = RateScope::each_gpu;
  if (const auto mfu = value_after(line, "mfu"); mfu && *mfu > 0 && *mfu <= 100) {
    mfu_sum_ += *mfu / 100;
    ++mfu_count_;
  }
  const auto stamp = time_stamp(line);
  const std::int64_t steps = *step - last_step_;
  if (stamp && last_stamp_ && steps > 0 && *stamp > *last_stamp_) {
    const double seconds = (*stamp - *last_stamp_) / static_cast<double>(steps);
    steps_.add({*step, steps, seconds, {}, tps, value_after(line, "loss")}, rank_prefix(line));
  } else if (steps == 0 && last_stamp_) {
    steps_.note_repeat();
  } else if (!stamp) {
    titan_without_time_ = true;
  }
  if (!last_stamp_ || steps > 0) {
    last_stamp_ = stamp;
    last_step_ = *step;
  }
  return true;
}

bool TorchtitanLog::read_fairseq(std::string_view line) {
  if (line.find("ups") == std::string_view::npos || line.find("wps") == std::string_view::npos)
    return false;
  const auto ups = value_after(line, "ups");
  const auto step = count_after(line, "num_updates");
  if (!ups || !step || !(*ups > 0)) return false;
  if (log_.format.empty()) log_.format = "fairseq";
  log_.rate_unit = RateUnit::tokens;
  log_.rate_scope = RateScope::whole_job;
  if (const auto tokens = count_after(line, "wpb"); tokens && *tokens > 0)
    log_.facts.tokens = tokens;
  steps_.add({*step,
              steps_.since_last(*step),
              1 / *ups,
              {},
              value_after(line, "wps"),
              value_after(line, "loss")},
             rank_prefix(line));
  return true;
}

// "[batch=25/4800]:" or "[step=120/739328]", then one figure a line.
void TorchtitanLog::read_block(std::string_view line) {
  for (const std::string_view head : {std::string_view("[batch="), std::string_view("[step=")}) {
    const std::size_t at = line.find(head);
    if (at == std::string_view::npos) continue;
    if (const auto progress = progress_of(line.substr(at + head.size()))) block_ = progress->first;
  }
  if (!block_) return;
  double per_second = 0;
  const char* format = "composer";
  if (const auto batches = value_after(line, "throughput/batches_per_sec")) {
    per_second = *batches;
  } else if (const auto device = value_after(line, "throughput/device/batches_per_second")) {
    per_second = *device;
    format = "OLMo";
  }
  const auto tokens = value_after(line, "throughput/device/tokens_per_sec");
  if (tokens) block_rate_ = tokens;
  if (!(per_second > 0)) return;
  if (log_.format.empty()) log_.format = format;
  log_.rate_unit = RateUnit::tokens;
  log_.rate_scope = RateScope::each_gpu;
  steps_.add({*block_, steps_.since_last(*block_), 1 / per_second, {}, block_rate_, {}},
             rank_prefix(line));
  block_.reset();
  block_rate_.reset();
}

void TorchtitanLog::line(std::string_view line) {
  if (line.find("tps") != std::string_view::npos && read_titan(line)) return;
  if (read_fairseq(line)) return;
  read_block(line);
}

StepLog TorchtitanLog::finish() {
  if (log_.format.empty()) return {};
  if (mfu_count_ > 0) log_.facts.mfu = mfu_sum_ / static_cast<double>(mfu_count_);
  if (titan_without_time_ && steps_.empty()) {
    log_.doubts.emplace_back(
        "the lines have no time stamps, and tps alone is no step time: give the "
        "tokens of a step");
  }
  steps_.finish(log_);
  return std::exchange(log_, {});
}

}  // namespace stepsight
