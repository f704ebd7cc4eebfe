#include "model/io/logs/trace_split_file.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "model/errors.h"
#include "model/io/trace_json.h"

namespace stepsight {

namespace {

constexpr std::size_t most_marks = 100'000;

struct Mark {
  std::string name;
  double start = 0;
  double end = 0;
};

bool is_kernel(const TraceEvent& e) {
  return e.category == "kernel" || e.category == "Kernel" || e.category == "gpu_memcpy" ||
         e.category == "gpu_memset";
}

bool is_collective(std::string_view kernel) {
  return kernel.starts_with("nccl") || kernel.starts_with("rccl") ||
         kernel.find("ncclKernel") != std::string_view::npos ||
         kernel.find("ncclDevKernel") != std::string_view::npos;
}

// What a first look finds.
struct Survey {
  std::vector<Mark> host, gpu;
  double begin = 0;  // of all kernels
  double end = 0;
  std::int64_t kernels = 0;
  std::optional<std::int64_t> device;  // of the first kernel
};

void look_at(const TraceEvent& e, Survey& out) {
  if (!e.start || !e.duration) return;
  const double end = *e.start + *e.duration;
  if (is_kernel(e)) {
    out.begin = out.kernels == 0 ? *e.start : std::min(out.begin, *e.start);
    out.end = out.kernels == 0 ? end : std::max(out.end, end);
    ++out.kernels;
    if (!out.device) out.device = e.device;
    return;
  }
  if (!e.name.starts_with("ProfilerStep")) return;
  std::vector<Mark>& marks = e.category == "gpu_user_annotation" ? out.gpu : out.host;
  if (marks.size() < most_marks) marks.push_back({e.name.substr(0, 60), *e.start, end});
}

// The step of median length, without the first where there are three or more. On the GPU's own marks
// where there are some: the host runs ahead.
std::optional<Mark> steady_mark(const Survey& survey) {
  std::vector<Mark> marks = survey.gpu.empty() ? survey.host : survey.gpu;
  std::erase_if(marks, [](const Mark& m) { return !(m.end > m.start); });
  if (marks.empty()) return std::nullopt;
  std::ranges::sort(marks, {}, &Mark::start);
  if (marks.size() >= 3) marks.erase(marks.begin());
  std::ranges::stable_sort(marks, {}, [](const Mark& m) { return m.end - m.start; });
  return marks[(marks.size() - 1) / 2];
}

}  // namespace

StepSplit read_step_split(const std::function<std::unique_ptr<TraceStream>()>& open) {
  Survey survey;
  const std::unique_ptr<TraceStream> first = open();
  read_trace_events(*first, [&](TraceEvent& e) { look_at(e, survey); });
  if (survey.kernels == 0 || !(survey.end > survey.begin)) {
    throw UserError(first->name() + ": holds no kernel of a GPU: record ProfilerActivity.CUDA, too");
  }
  const Mark step = steady_mark(survey).value_or(Mark{"", survey.begin, survey.end});
  std::vector<KernelSpan> spans;
  std::int64_t beyond = 0;
  std::int64_t elsewhere = 0;
  const std::unique_ptr<TraceStream> second = open();
  read_trace_events(*second, [&](TraceEvent& e) {
    if (!is_kernel(e) || !e.start || !e.duration) return;
    const double end = *e.start + *e.duration;
    if (end <= step.start || *e.start >= step.end) return;
    if (e.device != *survey.device) {
      ++elsewhere;
    } else if (spans.size() == most_split_kernels) {
      ++beyond;
    } else {
      spans.push_back({*e.start, end, is_collective(e.name)});
    }
  });
  StepSplit out = split_step(std::move(spans), step.start, step.end);
  out.step_name = step.name;
  if (elsewhere > 0) out.skipped.push_back(fmt::format("{} kernels of other GPUs", elsewhere));
  if (beyond > 0) out.skipped.push_back(fmt::format("{} kernels beyond the first million", beyond));
  return out;
}

StepSplit read_step_split(const std::string& path) {
  return read_step_split([&] { return open_trace(path); });
}

}  // namespace stepsight
