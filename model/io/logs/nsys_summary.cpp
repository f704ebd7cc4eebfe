#include "model/io/logs/nsys_summary.h"

#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/io/log_text.h"

namespace stepsight {

namespace {

constexpr std::size_t most_kernels = 200;

std::string_view unquoted(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    return text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

bool NsysSummaryLog::read_header(std::string_view line) {
  if (line.find("Total Time (ns)") == std::string_view::npos ||
      line.find("Instances") == std::string_view::npos) {
    return false;
  }
  const auto cells = split(line, ',');
  total_ = instances_ = name_ = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view name = unquoted(cells[i]);
    if (name == "Total Time (ns)") total_ = i;
    if (name == "Instances") instances_ = i;
    if (name == "Name" || name == "Range") name_ = i;
    if (name == "Range") ranges_ = true;
  }
  return true;
}

void NsysSummaryLog::line(std::string_view line) {
  if (read_header(line) || name_ <= total_ || name_ <= instances_) return;
  // The name is the last cell and may hold commas itself.
  std::vector<std::string_view> cells;
  std::string_view rest = line;
  for (std::size_t i = 0; i < name_; ++i) {
    const std::size_t comma = rest.find(',');
    if (comma == std::string_view::npos) return;
    cells.push_back(rest.substr(0, comma));
    rest.remove_prefix(comma + 1);
  }
  const auto total = number_of(unquoted(cells[total_]));
  const auto count = number_of(unquoted(cells[instances_]));
  if (!total || !count || *total < 0 || *total > 1e18 || *count < 1 || *count > 1e12) return;
  const std::string_view name = unquoted(rest);
  all_ += *total;
  if (name.starts_with("nccl") || name.find("ncclKernel") != std::string_view::npos)
    collectives_ += *total;
  if (log_.parts.size() == most_kernels) return;
  const double mean = *total / *count * 1e-9;
  log_.parts.push_back(
      {std::string(name.substr(0, 100)), mean, mean, mean, static_cast<std::int64_t>(*count)});
}

StepLog NsysSummaryLog::finish() {
  if (log_.parts.empty()) return {};
  log_.format = ranges_ ? "Nsight Systems' NVTX ranges" : "Nsight Systems' kernels";
  if (collectives_ > 0) {
    log_.doubts.push_back(
        fmt::format("NCCL's kernels take {:.1f} % of all kernels' time: what hides behind compute, "
                    "and waiting for other "
                    "ranks, is in it",
                    100 * collectives_ / all_));
  }
  return std::exchange(log_, {});
}

}  // namespace stepsight
