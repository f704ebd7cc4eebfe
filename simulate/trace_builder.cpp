#include "simulate/trace_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace stepsight {

namespace {

// Slices that are never drawn together with others: messages, and both ends of an arrow.
std::vector<char> pinned_slices(const StepTrace& trace) {
  std::vector<char> pinned(trace.slices.size(), 0);
  for (const TraceFlow& flow : trace.flows) pinned[flow.from] = pinned[flow.to] = 1;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const TraceSlice& slice = trace.slices[i];
    const TrackKind kind = trace.tracks[slice.track].kind;
    const bool many = kind == TrackKind::host || kind == TrackKind::compute;
    if (!many || slice.kind == SliceKind::message) pinned[i] = 1;
  }
  return pinned;
}

std::string_view words(SliceKind kind) {
  constexpr std::string_view names[] = {
      "forward", "backward", "gradient copies", "optimizer", "messages", "other"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace

std::uint32_t TraceBuilder::track(std::string process, std::string name, TrackKind kind) {
  std::uint32_t group = out_.tracks.empty() ? 0 : out_.tracks.back().group;
  if (!out_.tracks.empty() && out_.tracks.back().process != process) ++group;
  out_.tracks.push_back({std::move(process), std::move(name), kind, group});
  return static_cast<std::uint32_t>(out_.tracks.size() - 1);
}

std::uint32_t TraceBuilder::name(std::string_view text) {
  const auto known = names_.find(text);
  if (known != names_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(out_.names.size());
  out_.names.emplace_back(text);
  names_.emplace(std::string(text), number);
  return number;
}

std::uint32_t TraceBuilder::slice(const TraceSlice& slice) {
  out_.slices.push_back(slice);
  return static_cast<std::uint32_t>(out_.slices.size() - 1);
}

void TraceBuilder::arrow(std::uint32_t from, std::uint32_t to, FlowKind kind) {
  out_.flows.push_back({from, to, kind});
}

void TraceBuilder::counter(std::string name,
                           std::uint32_t track,
                           std::vector<std::pair<Picoseconds, double>> changes) {
  auto samples = running_sum(std::move(changes));
  if (std::ranges::all_of(samples, [](const auto& s) { return s.second == 0; })) return;
  out_.counters.push_back({std::move(name), 0, std::move(samples)});
  counter_track_.push_back(track);
}

std::vector<std::pair<Picoseconds, double>> running_sum(
    std::vector<std::pair<Picoseconds, double>> changes) {
  std::ranges::stable_sort(changes, {}, [](const auto& c) { return c.first; });
  std::vector<std::pair<Picoseconds, double>> all;
  double value = 0;
  double largest = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    value += changes[i].second;
    largest = std::max(largest, std::abs(value));
    if (i + 1 < changes.size() && changes[i + 1].first == changes[i].first) continue;
    all.emplace_back(changes[i].first, value);
  }
  std::vector<std::pair<Picoseconds, double>> kept;
  for (auto& [time, sum] : all) {
    if (std::abs(sum) < 1e-9 * largest) sum = 0;  // what adding and taking away leaves over
    const bool counts = kept.empty() || (sum == 0) != (kept.back().second == 0) ||
                        std::abs(sum - kept.back().second) >= largest / 100;
    if (counts) kept.emplace_back(time, sum);
  }
  return kept;
}

void TraceBuilder::fold(std::size_t most_slices) {
  const std::vector<char> pinned = pinned_slices(out_);
  const auto loose = static_cast<std::size_t>(std::ranges::count(pinned, 0));
  if (loose <= most_slices) return;
  const std::size_t room = std::max<std::size_t>(most_slices, 1);
  const auto most = static_cast<std::uint32_t>((loose + room - 1) / room);
  std::vector<TraceSlice> kept;
  std::vector<std::uint32_t> place(out_.slices.size());
  bool open = false;  // the last slice kept may take in more
  double work = 0;    // of the open slice, at full rate
  for (std::size_t i = 0; i < out_.slices.size(); ++i) {
    const TraceSlice& s = out_.slices[i];
    const auto length = static_cast<double>(s.end - s.begin);
    const bool joins = open && pinned[i] == 0 && kept.back().track == s.track &&
                       kept.back().kind == s.kind && kept.back().tasks < most;
    if (joins) {
      TraceSlice& to = kept.back();
      work += length * s.rate;
      to.end = s.end;
      to.tasks += s.tasks;
      to.name = name(words(s.kind));
      to.rate = std::min(1.0, work / static_cast<double>(to.end - to.begin));
    } else {
      kept.push_back(s);
      open = pinned[i] == 0;
      work = length * s.rate;
    }
    place[i] = static_cast<std::uint32_t>(kept.size() - 1);
  }
  out_.slices = std::move(kept);
  for (TraceFlow& flow : out_.flows) {
    flow.from = place[flow.from];
    flow.to = place[flow.to];
  }
}

void TraceBuilder::drop_empty_tracks() {
  std::vector<char> used(out_.tracks.size(), 0);
  for (const TraceSlice& slice : out_.slices) used[slice.track] = 1;
  std::vector<std::uint32_t> place(out_.tracks.size());
  std::vector<TraceTrack> tracks;
  for (std::size_t i = 0; i < out_.tracks.size(); ++i) {
    place[i] = static_cast<std::uint32_t>(tracks.size());
    if (used[i] != 0) tracks.push_back(out_.tracks[i]);
  }
  for (TraceSlice& slice : out_.slices) slice.track = place[slice.track];
  for (std::size_t i = 0; i < out_.counters.size(); ++i) {
    out_.counters[i].group = out_.tracks[counter_track_[i]].group;
  }
  out_.tracks = std::move(tracks);
}

StepTrace TraceBuilder::build(std::size_t most_slices,
                              Picoseconds step_begin,
                              Picoseconds step_end) {
  // Numbered by track, so that what is drawn together lies together.
  std::vector<std::uint32_t> order(out_.slices.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return out_.slices[i].track; });
  std::vector<std::uint32_t> place(order.size());
  std::vector<TraceSlice> sorted;
  sorted.reserve(order.size());
  Picoseconds origin = step_begin;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::uint32_t>(i);
    sorted.push_back(out_.slices[order[i]]);
    origin = std::min(origin, sorted.back().begin);
    out_.tasks += sorted.back().tasks;
  }
  out_.slices = std::move(sorted);
  for (TraceFlow& flow : out_.flows) {
    flow.from = place[flow.from];
    flow.to = place[flow.to];
  }
  fold(most_slices);
  drop_empty_tracks();
  out_.begin = step_begin - origin;
  out_.end = step_end - origin;
  for (TraceSlice& slice : out_.slices) {
    slice.begin -= origin;
    slice.end -= origin;
    out_.fold = std::max(out_.fold, slice.tasks);
  }
  for (TraceCounter& counter : out_.counters) {
    for (auto& [time, value] : counter.samples) time -= origin;
  }
  return std::move(out_);
}

double busy_seconds(const StepTrace& trace, std::uint32_t track) {
  Picoseconds sum = 0;
  for (const TraceSlice& slice : trace.slices) {
    if (slice.track != track) continue;
    sum += std::max<Picoseconds>(
        0, std::min(slice.end, trace.end) - std::max(slice.begin, trace.begin));
  }
  return to_seconds(sum).value;
}

}  // namespace stepsight
