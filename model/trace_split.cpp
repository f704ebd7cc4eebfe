#include "model/trace_split.h"

#include <algorithm>

namespace stepsight {

namespace {

// An instant at which a kernel starts or ends.
struct Edge {
  double time;
  int compute;  // +1, -1 or 0
  int collective;
};

}  // namespace

StepSplit split_step(std::vector<KernelSpan> spans, double begin, double end) {
  StepSplit out;
  out.step = end - begin;
  std::erase_if(spans, [&](const KernelSpan& s) {
    return s.end <= begin || s.start >= end || s.end < s.start;
  });
  std::ranges::sort(spans, {}, &KernelSpan::start);
  std::vector<Edge> edges;
  edges.reserve(2 * spans.size());
  for (const KernelSpan& s : spans) {
    const int other = s.collective ? 0 : 1;
    const int collective = s.collective ? 1 : 0;
    edges.push_back({std::max(s.start, begin), other, collective});
    edges.push_back({std::min(s.end, end), -other, -collective});
    if (s.collective) out.collectives.push_back(s.end - s.start);
  }
  std::ranges::stable_sort(edges, {}, &Edge::time);
  int compute = 0;
  int collective = 0;
  double at = begin;
  for (const Edge& e : edges) {
    const double passed = e.time - at;
    if (compute > 0) out.compute += passed;
    if (collective > 0) out.communication += passed;
    if (collective > 0 && compute == 0) out.exposed += passed;
    at = e.time;
    compute += e.compute;
    collective += e.collective;
  }
  out.kernels = static_cast<std::int64_t>(spans.size());
  out.idle = std::max(0.0, out.step - out.compute - out.exposed);
  return out;
}

RankSplit split_ranks(std::span<const StepSplit> ranks) {
  RankSplit out;
  out.waiting.assign(ranks.size(), 0.0);
  if (ranks.size() < 2 || ranks.front().collectives.empty()) return out;
  const std::size_t count = ranks.front().collectives.size();
  out.matched =
      std::ranges::all_of(ranks, [&](const StepSplit& r) { return r.collectives.size() == count; });
  if (!out.matched) return out;
  for (std::size_t c = 0; c < count; ++c) {
    double least = ranks.front().collectives[c];
    for (const StepSplit& r : ranks) least = std::min(least, r.collectives[c]);
    out.wire += least;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      out.waiting[r] += ranks[r].collectives[c] - least;
  }
  return out;
}

}  // namespace stepsight
