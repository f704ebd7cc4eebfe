#include "model/io/logs/vision.h"

#include <utility>

#include "model/io/log_text.h"
#include "model/io/logs/log_fields.h"

namespace stepsight {

namespace {

constexpr std::int64_t most_index = 1'000'000'000;

// "[62][1750/2693]", with blanks: epoch and iteration as one index.
std::optional<std::int64_t> bracket_index(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) return std::nullopt;
  const auto epoch = leading_number(text.substr(open + 1));
  if (!epoch || epoch->value < 0 || epoch->value > 1e6) return std::nullopt;
  const std::size_t second = text.find('[', open + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto progress = progress_of(text.substr(second + 1));
  if (!progress || progress->second > most_index) return std::nullopt;
  return static_cast<std::int64_t>(epoch->value) * progress->second + progress->first;
}

}  // namespace

void VisionLog::add(std::int64_t index,
                    double seconds,
                    std::optional<double> data,
                    std::string_view line,
                    const char* format) {
  LoggedStep step{index, steps_.since_last(index), seconds, data, {}, value_after(line, "loss")};
  if (log_.format.empty()) log_.format = format;
  steps_.add(step, rank_prefix(line));
}

// "Epoch(train)  [62][1750/2693] ... time: 1.2069  data_time: 0.0319"; mmcv: "Epoch [1][50/7330]".
bool VisionLog::read_open_mmlab(std::string_view line) {
  std::size_t at = line.find("Epoch(train)");
  if (at == std::string_view::npos) at = line.find("Epoch [");
  if (at == std::string_view::npos) return false;
  const auto index = bracket_index(line.substr(at));
  const auto time = value_after(line, "time");
  if (!index || !time) return false;
  add(*index, *time, value_after(line, "data_time"), line, "mmengine");
  return true;
}

bool VisionLog::read_detectron(std::string_view line) {
  const auto index = count_after(line, "iter");
  const auto time = value_after(line, "time");
  const auto data = value_after(line, "data_time");
  if (!index || !time || !data) return false;
  add(*index, *time, data, line, "detectron2");
  return true;
}

// "Epoch: [0][  10/5005]\tTime  0.251 (  1.202)\tData  0.001 (  0.801)" and
// "Epoch: [0]  [  10/1251]  ...  time: 0.2507  data: 0.0012": the figure of this step.
bool VisionLog::read_epoch(std::string_view line) {
  const std::size_t at = line.find("Epoch: [");
  if (at == std::string_view::npos) return false;
  const auto index = bracket_index(line.substr(at));
  if (!index) return false;
  if (const auto time = value_after(line, "Time")) {
    LoggedStep step{*index, 1, *time, value_after(line, "Data"), {}, {}};
    if (log_.format.empty()) log_.format = "PyTorch's ImageNet example";
    steps_.add(step, rank_prefix(line));
    return true;
  }
  const auto time = value_after(line, "time");
  if (!time) return false;
  add(*index, *time, value_after(line, "data"), line, "torchvision");
  return true;
}

// "Train: 0 [  50/1251 (  4%)]  ...  Time: 0.402s, 1990.05/s  (0.431s, 1856.15/s)  ... Data: 0.011"
bool VisionLog::read_timm(std::string_view line) {
  const std::size_t at = line.find("Train: ");
  if (at == std::string_view::npos) return false;
  const auto epoch = leading_number(line.substr(at + 7));
  const std::size_t open = line.find('[', at);
  if (!epoch || epoch->value < 0 || epoch->value > 1e6 || open == std::string_view::npos)
    return false;
  const auto progress = progress_of(line.substr(open + 1));
  const auto time = number_after(line, "Time");
  if (!progress || progress->second > most_index || !time) return false;
  LoggedStep step{static_cast<std::int64_t>(epoch->value) * progress->second + progress->first,
                  1,
                  time->value,
                  value_after(line, "Data"),
                  {},
                  {}};
  const std::size_t comma = time->rest.find(',');
  if (comma != std::string_view::npos) {
    if (const auto rate = leading_number(time->rest.substr(comma + 1));
        rate && rate->unit == "/s") {
      step.rate = rate->value;
      log_.rate_unit = RateUnit::samples;
      log_.rate_scope = RateScope::whole_job;
    }
  }
  if (log_.format.empty()) log_.format = "timm";
  steps_.add(step, rank_prefix(line));
  return true;
}

// "DLL ... Iteration: 10 ... train.total_ips : 970.41 img/s train.data_time : 0.0011 s
// train.compute_time : 0.35875 s"
bool VisionLog::read_dllogger(std::string_view line) {
  const auto compute = value_after(line, "train.compute_time");
  const auto data = value_after(line, "train.data_time");
  const auto index = count_after(line, "Iteration");
  if (!compute || !data || !index) return false;
  LoggedStep step{*index, 1, *compute + *data, data, value_after(line, "train.total_ips"), {}};
  log_.rate_unit = RateUnit::samples;
  log_.rate_scope = RateScope::whole_job;
  if (log_.format.empty()) log_.format = "DLLogger";
  steps_.add(step, rank_prefix(line));
  return true;
}

void VisionLog::line(std::string_view line) {
  if (line.find("ime") == std::string_view::npos) return;
  if (read_open_mmlab(line) || read_epoch(line) || read_timm(line)) return;
  if (line.find("data_time") == std::string_view::npos) return;
  if (!read_dllogger(line)) read_detectron(line);
}

StepLog VisionLog::finish() {
  if (steps_.empty()) return {};
  steps_.finish(log_);
  return std::exchange(log_, {});
}

}  // namespace stepsight
