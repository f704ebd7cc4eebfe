#include "model/io/logs/split_events.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "model/errors.h"

namespace stepsight {

namespace {

constexpr std::size_t most_marks = 100'000;

struct Mark {
  std::string name;
  double start = 0;
  double end = 0;
};

// What a first look finds.
struct Survey {
  std::vector<Mark> host, gpu;
  double begin = 0;  // of all kernels
  double end = 0;
  std::int64_t kernels = 0;
  std::optional<std::int64_t> device;  // of the first kernel

  void look_at(const SplitEvent& e) {
    if (e.kind == SplitEvent::Kind::kernel) {
      begin = kernels == 0 ? e.start : std::min(begin, e.start);
      end = kernels == 0 ? e.end : std::max(end, e.end);
      ++kernels;
      if (!device) device = e.device;
      return;
    }
    std::vector<Mark>& marks = e.kind == SplitEvent::Kind::gpu_step ? gpu : host;
    if (marks.size() < most_marks)
      marks.push_back({std::string(e.name.substr(0, 60)), e.start, e.end});
  }
};

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

bool is_collective_kernel(std::string_view name) {
  return name.starts_with("nccl") || name.starts_with("rccl") ||
         name.find("ncclKernel") != std::string_view::npos ||
         name.find("ncclDevKernel") != std::string_view::npos;
}

StepSplit split_events(const std::string& file,
                       const EachSplitEvent& each,
                       const std::string& record) {
  Survey survey;
  each([&](const SplitEvent& e) { survey.look_at(e); });
  if (survey.kernels == 0 || !(survey.end > survey.begin)) {
    throw UserError(file + ": holds no kernel of a GPU: " + record);
  }
  const Mark step = steady_mark(survey).value_or(Mark{"", survey.begin, survey.end});
  std::vector<KernelSpan> spans;
  std::int64_t beyond = 0;
  std::int64_t elsewhere = 0;
  each([&](const SplitEvent& e) {
    if (e.kind != SplitEvent::Kind::kernel || e.end <= step.start || e.start >= step.end) return;
    if (e.device != *survey.device) {
      ++elsewhere;
    } else if (spans.size() == most_split_kernels) {
      ++beyond;
    } else {
      spans.push_back({e.start, e.end, is_collective_kernel(e.name)});
    }
  });
  StepSplit out = split_step(std::move(spans), step.start, step.end);
  out.step_name = step.name;
  if (elsewhere > 0) out.skipped.push_back(fmt::format("{} kernels of other GPUs", elsewhere));
  if (beyond > 0) out.skipped.push_back(fmt::format("{} kernels beyond the first million", beyond));
  return out;
}

}  // namespace stepsight
