#include "simulate/step_trace.h"

#include <algorithm>
#include <map>

#include "simulate/pipeline_step.h"
#include "simulate/predict.h"
#include "simulate/trace_builder.h"
#include "tests/catch2.h"
#include "tests/simulate/toy_step.h"

namespace stepsight {

namespace {

void check_tracks_are_in_order(const StepTrace& trace) {
  std::map<std::uint32_t, Picoseconds> ended;
  std::uint32_t track = 0;
  for (const TraceSlice& s : trace.slices) {
    REQUIRE(s.track >= track);
    track = s.track;
    REQUIRE(s.begin >= ended[s.track]);
    REQUIRE(s.end >= s.begin);
    ended[s.track] = s.end;
  }
}

std::size_t arrows(const StepTrace& trace, FlowKind kind) {
  return static_cast<std::size_t>(
      std::ranges::count_if(trace.flows, [&](const TraceFlow& f) { return f.kind == kind; }));
}

std::string name_of(const StepTrace& trace, std::uint32_t slice) {
  return trace.names[trace.slices[slice].name];
}

double bytes_on(const StepTrace& trace, TrackKind kind) {
  double sum = 0;
  for (const TraceSlice& s : trace.slices) {
    if (trace.tracks[s.track].kind == kind) sum += s.bytes;
  }
  return sum;
}

}  // namespace

TEST_CASE("a trace's step is as long as predict says, and its messages carry as many bytes") {
  const GpuProfile gpu = with_every_collective(toy_gpu());
  for (const Strategy strategy : {Strategy::ddp, Strategy::fsdp, Strategy::zero1}) {
    Scenario s = toy_scenario(8);
    s.parallel.strategy = strategy;
    const StepTrace trace = trace_step(s, gpu);
    const Prediction p = predict(s, gpu);
    check_tracks_are_in_order(trace);
    CHECK(to_seconds(trace.end - trace.begin).value == Approx(p.step.value).epsilon(1e-12));
    CHECK(bytes_on(trace, TrackKind::communication) == Approx(p.message_bytes).epsilon(1e-9));
    CHECK(bytes_on(trace, TrackKind::link) == Approx(p.message_bytes).epsilon(1e-9));
  }
}

TEST_CASE("every gradient has an arrow to its copy, and every copy one to its bucket's message") {
  for (const bool overlap : {true, false}) {
    Scenario s = toy_scenario(4);
    s.parallel.overlap = overlap;
    const StepTrace trace = trace_step(s, toy_gpu());
    const auto tensors = static_cast<std::size_t>(step_work(s).tensors);
    CHECK(arrows(trace, FlowKind::gradient) == tensors);
    std::map<std::uint32_t, std::size_t> into;  // message -> copies
    for (const TraceFlow& f : trace.flows) {
      if (f.kind == FlowKind::gradient) CHECK(name_of(trace, f.to) == "copy into bucket");
      if (f.kind != FlowKind::message) continue;
      CHECK(name_of(trace, f.from) == "copy into bucket");
      CHECK(name_of(trace, f.to) == "bucket");
      CHECK(trace.slices[f.to].begin >= trace.slices[f.from].end);
      ++into[f.to];
    }
    CHECK(into.size() == predict(s, toy_gpu()).buckets);
  }
}

TEST_CASE("one GPU has no communication, no link and no arrows") {
  const StepTrace trace = trace_step(toy_scenario(1), toy_gpu());
  CHECK(trace.flows.empty());
  for (const TraceTrack& track : trace.tracks) {
    CHECK(track.kind != TrackKind::communication);
    CHECK(track.kind != TrackKind::link);
  }
}

TEST_CASE("drawing neighbours together keeps time, arrows and messages") {
  Scenario s = toy_scenario(4);
  s.training.accumulation = 4;
  const StepTrace whole = trace_step(s, toy_gpu());
  const StepTrace small = trace_step(s, toy_gpu(), 200);
  check_tracks_are_in_order(small);
  CHECK(small.slices.size() < whole.slices.size());
  CHECK(small.fold > 1);
  CHECK(small.tasks == whole.tasks);
  CHECK(small.flows.size() == whole.flows.size());
  CHECK(bytes_on(small, TrackKind::link) == Approx(bytes_on(whole, TrackKind::link)));
  std::uint32_t stand_for = 0;
  for (const TraceSlice& slice : small.slices) stand_for += slice.tasks;
  CHECK(stand_for == whole.tasks);
  for (std::size_t i = 0; i < small.flows.size(); ++i) {
    CHECK(name_of(small, small.flows[i].from) == name_of(whole, whole.flows[i].from));
    CHECK(name_of(small, small.flows[i].to) == name_of(whole, whole.flows[i].to));
  }
}

TEST_CASE("a pipeline's trace has a process a stage and every pass of every micro-batch") {
  Scenario s = toy_scenario(4);
  s.parallel.pipeline = 4;
  s.training.accumulation = 8;
  const GpuProfile gpu = with_every_collective(toy_gpu());
  const StepTrace trace = trace_step(s, gpu);
  check_tracks_are_in_order(trace);
  CHECK(to_seconds(trace.end - trace.begin).value ==
        Approx(predict(s, gpu).step.value).epsilon(1e-12));
  std::size_t forwards = 0;
  for (const TraceSlice& slice : trace.slices) {
    if (trace.tracks[slice.track].kind == TrackKind::compute && slice.kind == SliceKind::forward) {
      ++forwards;
    }
  }
  CHECK(forwards == 4 * 8);
  // Activations onwards and gradients backwards between four stages.
  CHECK(arrows(trace, FlowKind::message) >= 2 * 3 * 8);
  CHECK(trace.tracks.back().process == "links");
  for (const TraceCounter& counter : trace.counters) CHECK(counter.samples.back().second == 0);
}

TEST_CASE(
    "a sum over time keeps its last value, joins changes of one moment and drops small ones") {
  using Samples = std::vector<std::pair<Picoseconds, double>>;
  CHECK(running_sum({{10, 5}, {20, -5}, {20, 5}, {30, -5}}) == Samples{{10, 5}, {30, 0}});
  CHECK(running_sum({{0, 1000}, {5, 1}, {9, -1001}}) == Samples{{0, 1000}, {9, 0}});
  CHECK(running_sum({}).empty());
}

}  // namespace stepsight
