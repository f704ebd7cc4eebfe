#include "model/traced_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>

#include "model/errors.h"

namespace stepsight {

namespace {

double end_of(const TraceSpan& s) {
  return s.start + s.duration;
}

// Sorted spans of one thread, merged where they touch or nest.
using Spans = std::vector<TraceSpan>;

Spans merged(Spans spans) {
  std::ranges::sort(spans, {}, &TraceSpan::start);
  Spans out;
  for (const TraceSpan& s : spans) {
    if (!out.empty() && s.start <= end_of(out.back())) {
      out.back().duration = std::max(out.back().duration, end_of(s) - out.back().start);
    } else {
      out.push_back(s);
    }
  }
  return out;
}

bool covers(const Spans& spans, double time) {
  const auto after = std::ranges::upper_bound(spans, time, {}, &TraceSpan::start);
  return after != spans.begin() && time <= end_of(*(after - 1));
}

// Time of [begin, end] that the spans cover.
double covered(const Spans& spans, double begin, double end) {
  double out = 0;
  auto at = std::ranges::upper_bound(spans, begin, {}, &TraceSpan::start);
  if (at != spans.begin()) --at;
  for (; at != spans.end() && at->start < end; ++at) {
    out += std::max(0.0, std::min(end, end_of(*at)) - std::max(begin, at->start));
  }
  return out;
}

constexpr double us = 1e-6;
constexpr double infinity = std::numeric_limits<double>::infinity();

class Assembly {
 public:
  Assembly(TraceEvents events, const TraceWindow& window, TracedStep& out)
      : events_(std::move(events)), window_(window), out_(out) {}
  void run();

 private:
  void index_host();
  void match_kernels();
  [[nodiscard]] StepPart part_of(const TraceLaunch& launch) const;
  void add_kernels();
  void add_gradients();
  void count_issues();
  double issue(const TraceLaunch& launch, const TraceKernel& kernel, TracedKernel& to);

  // When a kernel was launched, and its place in the start order plus one.
  using Launched = std::pair<double, std::uint32_t>;
  std::vector<std::uint32_t> first_uses(std::span<const TraceGradient> gradients,
                                        std::span<const Launched> launched);
  struct Exchanged {
    std::vector<TraceGradient> gradients;
    double pass_before = 0;  // when the last gradient of the pass before was handed over
  };
  Exchanged exchanged_gradients(const std::vector<double>& forward);

  struct Matched {
    std::uint32_t kernel = 0;
    std::uint32_t launch = no_operator;
  };

  TraceEvents events_;
  const TraceWindow& window_;
  TracedStep& out_;
  std::map<std::int64_t, Spans> backward_;  // by thread
  Spans any_backward_;
  Spans optimizer_;
  Spans waits_;
  std::vector<Matched> matched_;  // in order of the kernels' start
  double host_ = 0;               // when the host was last seen to have issued something
};

void Assembly::index_host() {
  for (const TraceSpan& s : events_.backward) backward_[s.thread].push_back(s);
  for (auto& [thread, spans] : backward_) spans = merged(std::move(spans));
  any_backward_ = merged(events_.backward);
  for (const TraceMark& mark : events_.marks) optimizer_.push_back(mark.span);
  optimizer_ = merged(std::move(optimizer_));
  waits_ = merged(events_.waits);
  std::ranges::sort(events_.operators, {}, &TraceOperator::external_id);
}

// Kernels and launches meet by their correlation. In a whole file a kernel without a launch (lost,
// or of a graph) stays; in a window it belongs to another step.
void Assembly::match_kernels() {
  std::unordered_map<std::uint64_t, std::uint32_t> launch_of;
  launch_of.reserve(events_.launches.size());
  for (std::uint32_t i = 0; i < events_.launches.size(); ++i) {
    launch_of.emplace(events_.launches[i].correlation, i);
  }
  std::vector<std::uint32_t> order(events_.kernels.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return events_.kernels[i].start; });
  for (const std::uint32_t i : order) {
    const auto found = launch_of.find(events_.kernels[i].correlation);
    if (found != launch_of.end()) {
      matched_.push_back({i, found->second});
    } else if (window_.whole) {
      matched_.push_back({i, no_operator});
    }
  }
  const bool any =
      std::ranges::any_of(matched_, [](const Matched& m) { return m.launch != no_operator; });
  if (!any) {
    throw UserError(out_.file +
                    ": no kernel can be led back to the call that launched it: the events of the "
                    "CUDA runtime are missing; record ProfilerActivity.CPU and .CUDA together");
  }
}

StepPart Assembly::part_of(const TraceLaunch& launch) const {
  const auto thread = backward_.find(launch.thread);
  if (thread != backward_.end() && covers(thread->second, launch.start)) return StepPart::backward;
  if (covers(optimizer_, launch.start)) return StepPart::optimizer;
  const bool backward_to_come = launch.start < any_backward_.back().start;
  return backward_to_come ? StepPart::forward : StepPart::optimizer;
}

// Advances the host to the end of this launch; the issue time of the kernel.
double Assembly::issue(const TraceLaunch& launch, const TraceKernel& kernel, TracedKernel& to) {
  double end = launch.start + launch.duration;
  // A copy to pageable memory returns when it is done: that is a wait, not work of the host.
  const bool waits_itself =
      kernel.kind == KernelKind::copy_to_host && end >= kernel.start + kernel.duration;
  const double issued = waits_itself ? launch.start : end;
  if (issued <= host_) return 0;
  const double waited = covered(waits_, host_, issued);
  to.host_waits = to.host_waits || waited > 0;
  const double spent = issued - host_ - waited;
  host_ = std::max(issued, end);
  return std::max(0.0, spent);
}

void Assembly::add_kernels() {
  host_ = window_.begin;
  double gpu_free = -infinity;
  StepPart part = StepPart::forward;
  bool wait_next = false;
  out_.kernels.reserve(matched_.size());
  for (const Matched& m : matched_) {
    const TraceKernel& k = events_.kernels[m.kernel];
    TracedKernel to;
    const double end = k.start + k.duration;
    to.seconds = std::max(0.0, end - std::max(k.start, gpu_free)) * us;
    if (to.seconds == 0 && k.duration > 0) ++out_.other_streams;
    gpu_free = std::max(gpu_free, end);
    to.kind = k.kind;
    to.dtype = k.dtype;
    to.host_waits = wait_next;
    wait_next = false;
    if (m.launch != no_operator) {
      const TraceLaunch& launch = events_.launches[m.launch];
      part = part_of(launch);
      to.issue_seconds = issue(launch, k, to) * us;
      wait_next = k.kind == KernelKind::copy_to_host && host_ >= end;
    }
    to.part = part;
    const auto work =
        std::ranges::lower_bound(events_.operators, k.external_id, {}, &TraceOperator::external_id);
    if (k.external_id != 0 && work != events_.operators.end() &&
        work->external_id == k.external_id) {
      to.work = static_cast<std::uint32_t>(work - events_.operators.begin());
    }
    out_.issue[static_cast<std::size_t>(part)].seconds += to.issue_seconds;
    out_.kernels.push_back(to);
  }
  const double waited = covered(waits_, host_, window_.end);
  out_.tail_seconds = std::max(0.0, window_.end - host_ - waited) * us;
  // At the end of a file it is the profiler that waits.
  out_.tail_waits = !window_.whole && (waited > 0 || wait_next);
  out_.issue[static_cast<std::size_t>(StepPart::optimizer)].seconds += out_.tail_seconds;
  for (TraceOperator& op : events_.operators) out_.works.push_back(op.work);
}

// Operators that launched kernels, each once; a launch without an id counts for itself.
void Assembly::count_issues() {
  std::vector<std::pair<std::uint64_t, StepPart>> ids;
  for (std::size_t i = 0; i < matched_.size(); ++i) {
    const std::uint64_t id = events_.kernels[matched_[i].kernel].external_id;
    const StepPart part = out_.kernels[i].part;
    if (id != 0) {
      ids.emplace_back(id, part);
    } else {
      ++out_.issue[static_cast<std::size_t>(part)].operators;
    }
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (const auto& [id, part] : ids) {
    IssueCount& count = out_.issue[static_cast<std::size_t>(part)];
    ++(std::ranges::binary_search(events_.casts, id) ? count.casts : count.operators);
  }
}

// For each gradient, the first kernel of the operator of forward whose node handed it over: kernels
// launched before that operator began come before it.
std::vector<std::uint32_t> Assembly::first_uses(std::span<const TraceGradient> gradients,
                                                std::span<const Launched> launched) {
  auto& forward = events_.forward_sequence;
  auto& backward = events_.backward_sequence;
  std::ranges::sort(backward, {}, &TraceSequence::start);
  std::ranges::sort(forward, [](const TraceSequence& a, const TraceSequence& b) {
    return std::pair(a.number, a.start) < std::pair(b.number, b.start);
  });
  // How many kernels of the start order the launches up to each take.
  std::vector<std::uint32_t> upto{0};
  for (const Launched& l : launched) upto.push_back(std::max(upto.back(), l.second));
  std::vector<std::uint32_t> out;
  for (const TraceGradient& g : gradients) {
    out.push_back(no_operator);
    const auto node = std::ranges::upper_bound(backward, g.start, {}, &TraceSequence::start);
    if (node == backward.begin()) continue;
    const std::uint64_t number = (node - 1)->number;
    const auto used = std::ranges::lower_bound(forward, number, {}, &TraceSequence::number);
    if (used == forward.end() || used->number != number) continue;
    const auto at = std::ranges::lower_bound(launched, used->start, {}, &Launched::first);
    out.back() = upto[static_cast<std::size_t>(at - launched.begin())];
  }
  return out;
}

// What data parallelism exchanges. Passes of backward that give as many gradients each are
// micro-steps, of which the last is exchanged; others are parts of one step (several losses).
// `forward`: launches of forward, sorted; they part one pass from the next.
Assembly::Exchanged Assembly::exchanged_gradients(const std::vector<double>& forward) {
  std::ranges::stable_sort(events_.gradients, {}, &TraceGradient::start);
  std::vector<std::vector<TraceGradient>> passes(1);
  double before = -infinity;
  for (const TraceGradient& g : events_.gradients) {
    const auto next = std::ranges::upper_bound(forward, before);
    const bool forward_between = next != forward.end() && *next < g.start;
    if (forward_between && !passes.back().empty()) passes.emplace_back();
    passes.back().push_back(g);
    before = g.start;
  }
  const bool equal =
      std::ranges::all_of(passes, [&](const auto& p) { return p.size() == passes.back().size(); });
  if (!equal) return {events_.gradients, -infinity};
  out_.micro_steps = static_cast<int>(passes.size());
  const bool several = passes.size() > 1;
  return {passes.back(), several ? passes[passes.size() - 2].back().start : -infinity};
}

// The last backward's gradients, and the kernels that completed each.
void Assembly::add_gradients() {
  std::vector<Launched> launched;
  std::vector<double> forward;
  for (std::uint32_t i = 0; i < matched_.size(); ++i) {
    if (matched_[i].launch == no_operator) continue;
    const double at = events_.launches[matched_[i].launch].start;
    launched.emplace_back(at, i + 1);
    if (out_.kernels[i].part == StepPart::forward) forward.push_back(at);
  }
  std::ranges::sort(launched);
  std::ranges::sort(forward);
  // Kernels, in the order of their start, that were launched until a time; times only grow.
  auto advance = [&, at = std::size_t{0}, upto = std::uint32_t{0}](double time) mutable {
    for (; at < launched.size() && launched[at].first <= time; ++at) {
      upto = std::max(upto, launched[at].second);
    }
    return upto;
  };
  std::vector<double> backward_time{0};
  for (const TracedKernel& k : out_.kernels) {
    backward_time.push_back(backward_time.back() + (k.part == StepPart::backward ? k.seconds : 0));
  }

  const Exchanged exchanged = exchanged_gradients(forward);
  const std::vector<std::uint32_t> used = first_uses(exchanged.gradients, launched);
  const auto follows = std::ranges::lower_bound(forward, exchanged.gradients.front().start);
  out_.forward_begin = advance(exchanged.pass_before);
  out_.backward_begin = advance(follows == forward.begin() ? -infinity : *(follows - 1));
  out_.sizes_recorded = true;
  std::uint32_t last = out_.backward_begin;
  for (std::size_t i = 0; i < exchanged.gradients.size(); ++i) {
    const TraceGradient& g = exchanged.gradients[i];
    const std::uint32_t after = advance(g.start);
    out_.gradients.push_back(
        {after, g.elements, backward_time[after] - backward_time[last], used[i]});
    out_.sizes_recorded = out_.sizes_recorded && g.elements > 0;
    if (g.dtype) out_.gradient_dtype = *g.dtype;
    last = after;
  }
  out_.backward_end = advance(end_of(any_backward_.back()));
}

void Assembly::run() {
  if (events_.backward.empty()) {
    throw UserError(out_.file +
                    ": holds no backward pass (no autograd nodes): expected a training step, with "
                    "ProfilerActivity.CPU recorded and not replayed from a CUDA graph");
  }
  if (events_.gradients.empty()) {
    throw UserError(out_.file +
                    ": backward hands no gradient to a parameter (no AccumulateGrad node): "
                    "expected a training step with trainable parameters");
  }
  index_host();
  match_kernels();
  add_kernels();
  count_issues();
  add_gradients();
}

}  // namespace

TracedStep traced_step(const std::string& file,
                       const TraceSurvey& survey,
                       const TraceWindow& window,
                       TraceEvents events) {
  TracedStep out;
  out.file = file;
  out.name = window.name;
  out.steps = window.steps;
  out.gpu = survey.gpu;
  out.multiprocessors = survey.multiprocessors;
  Assembly(std::move(events), window, out).run();
  return out;
}

void share_out_parameters(TracedStep& step, std::int64_t elements) {
  double total = 0;
  for (const TracedGradient& g : step.gradients) total += g.seconds;
  const auto tensors = static_cast<double>(step.gradients.size());
  double sum = 0;
  std::int64_t given = 0;
  for (TracedGradient& g : step.gradients) {
    sum += total > 0 ? g.seconds / total : 1 / tensors;
    const auto upto = static_cast<std::int64_t>(std::llround(sum * static_cast<double>(elements)));
    g.elements = std::max<std::int64_t>(1, upto - given);
    given = std::max(given, upto);
  }
}

std::int64_t parameter_count(const TracedStep& step) {
  std::int64_t out = 0;
  for (const TracedGradient& g : step.gradients) out += g.elements;
  return out;
}

}  // namespace stepsight
