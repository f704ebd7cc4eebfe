#include "reports/trace_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "reports/escape.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

using Buffer = fmt::memory_buffer;

// Rounded once for begin and once for end, so that neighbours still touch and never overlap.
Picoseconds nanoseconds(Picoseconds time) {
  return (time + 500) / 1000;
}

template <typename... Args>
void put(Buffer& out, fmt::format_string<Args...> text, Args&&... args) {
  fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
}

// Nanoseconds as microseconds, exactly.
std::string microseconds(Picoseconds ns) {
  return ns % 1000 == 0 ? fmt::format("{}", ns / 1000)
                        : fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

constexpr std::string_view category(SliceKind kind) {
  constexpr std::string_view names[] = {
      "forward", "backward", "gradient_sync", "optimizer", "message", "other"};
  return names[static_cast<std::size_t>(kind)];
}

constexpr std::string_view category(FlowKind kind) {
  constexpr std::string_view names[] = {"gradient", "message", "wait"};
  return names[static_cast<std::size_t>(kind)];
}

void put_names(Buffer& out, const StepTrace& trace) {
  std::uint32_t process = 0;
  for (std::size_t t = 0; t < trace.tracks.size(); ++t) {
    const TraceTrack& track = trace.tracks[t];
    const std::uint32_t pid = track.group + 1;
    if (pid != process) {
      put(out,
          R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}},)"
          "\n",
          pid,
          json_string(track.process));
      put(out,
          R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}},)"
          "\n",
          pid,
          pid);
      process = pid;
    }
    put(out,
        R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}},)"
        "\n",
        pid,
        t + 1,
        json_string(track.name));
    put(out,
        R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}},)"
        "\n",
        pid,
        t + 1,
        t + 1);
  }
}

void put_slice(Buffer& out,
               const StepTrace& trace,
               const TraceSlice& s,
               const std::vector<std::string>& names) {
  const TraceTrack& track = trace.tracks[s.track];
  const Picoseconds begin = nanoseconds(s.begin);
  const Picoseconds length = nanoseconds(s.end) - begin;
  put(out,
      R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{}")",
      track.group + 1,
      s.track + 1,
      microseconds(begin),
      microseconds(length),
      names[s.name],
      category(s.kind));
  std::string args;
  const auto add = [&](const std::string& arg) { args += (args.empty() ? "" : ",") + arg; };
  if (s.bytes > 0) {
    add(fmt::format(R"("bytes":{:.0f})", s.bytes));
    const double seconds = to_seconds(s.end - s.begin).value;
    if (seconds > 0) add(fmt::format(R"("GBps":{:.4g})", s.bytes / seconds / 1e9));
  }
  if (s.tasks > 1) add(fmt::format(R"("kernels":{})", s.tasks));
  if (s.rate < 0.9995) add(fmt::format(R"("rate":{:.4g})", s.rate));
  if (!args.empty()) put(out, R"(,"args":{{{}}})", args);
  put(out, "}},\n");
}

// A viewer draws an arrow from and to the slice that is under way at its time: half a slice in, at
// most a nanosecond from the edge.
void put_flow(Buffer& out, const StepTrace& trace, std::size_t id) {
  const TraceFlow& flow = trace.flows[id];
  const TraceSlice& from = trace.slices[flow.from];
  const TraceSlice& to = trace.slices[flow.to];
  const Picoseconds leaves = std::max(nanoseconds(from.begin), nanoseconds(from.end) - 1);
  const std::string_view name = category(flow.kind);
  put(out,
      R"({{"ph":"s","id":{},"pid":{},"tid":{},"ts":{},"name":"{}","cat":"flow"}},)"
      "\n",
      id + 1,
      trace.tracks[from.track].group + 1,
      from.track + 1,
      microseconds(leaves),
      name);
  put(out,
      R"({{"ph":"f","bp":"e","id":{},"pid":{},"tid":{},"ts":{},"name":"{}","cat":"flow"}},)"
      "\n",
      id + 1,
      trace.tracks[to.track].group + 1,
      to.track + 1,
      microseconds(nanoseconds(to.begin)),
      name);
}

void put_counters(Buffer& out, const StepTrace& trace) {
  for (const TraceCounter& counter : trace.counters) {
    const std::string name = json_string(counter.name);
    for (const auto& [time, value] : counter.samples) {
      put(out,
          R"({{"ph":"C","pid":{},"ts":{},"name":{},"args":{{"value":{:.6g}}}}},)"
          "\n",
          counter.group + 1,
          microseconds(nanoseconds(time)),
          name,
          value);
    }
  }
}

// How full each of `columns` equal parts of the step is, as a character.
std::string density(const StepTrace& trace, std::uint32_t track, std::size_t columns) {
  std::vector<double> busy(columns, 0.0);
  const auto length = static_cast<double>(trace.end - trace.begin) / static_cast<double>(columns);
  for (const TraceSlice& s : trace.slices) {
    if (s.track != track) continue;
    const double begin = static_cast<double>(std::max(s.begin, trace.begin) - trace.begin) / length;
    const double end = static_cast<double>(std::min(s.end, trace.end) - trace.begin) / length;
    for (auto c = static_cast<std::size_t>(begin); c < columns && static_cast<double>(c) < end;
         ++c) {
      const auto left = static_cast<double>(c);
      busy[c] += std::max(0.0, std::min(end, left + 1) - std::max(begin, left));
    }
  }
  std::string out;
  for (const double b : busy)
    out += b > 0.9 ? '#' : b > 0.5 ? '=' : b > 0.1 ? '-' : b > 0 ? '.' : ' ';
  return out;
}

}  // namespace

std::string perfetto_json(const TraceReport& report) {
  const StepTrace& trace = report.trace;
  Buffer out;
  put(out,
      "{{\"displayTimeUnit\":\"ms\",\n\"otherData\":{{\"program\":\"stepsight\",\"title\":{},",
      json_string(report.title));
  put(out,
      "\"about\":{},\"step_s\":{},\"step_begin_us\":{},\"step_end_us\":{}}},\n",
      json_string(report.about),
      to_seconds(trace.end - trace.begin).value,
      microseconds(nanoseconds(trace.begin)),
      microseconds(nanoseconds(trace.end)));
  put(out, "\"traceEvents\":[\n");
  put_names(out, trace);
  std::vector<std::string> names;
  for (const std::string& name : trace.names) names.push_back(json_string(name));
  for (const TraceSlice& slice : trace.slices) put_slice(out, trace, slice, names);
  for (std::size_t i = 0; i < trace.flows.size(); ++i) put_flow(out, trace, i);
  put_counters(out, trace);
  // What marks the step itself, and no comma after the last event.
  put(out,
      R"({{"ph":"I","s":"g","pid":1,"tid":1,"ts":{},"name":"the step begins"}},)"
      "\n",
      microseconds(nanoseconds(trace.begin)));
  put(out,
      R"({{"ph":"I","s":"g","pid":1,"tid":1,"ts":{},"name":"the step ends"}})"
      "\n]}}\n",
      microseconds(nanoseconds(trace.end)));
  return fmt::to_string(out);
}

std::string trace_text(const TraceReport& report) {
  const StepTrace& trace = report.trace;
  const double step = to_seconds(trace.end - trace.begin).value;
  std::string out = report.title.empty() ? "" : wrap(report.title) + "\n\n";
  out += wrap(report.about) + "\n\n";
  out += fmt::format("A step takes {}; from its begin (left) to its end:\n", format_seconds(step));
  std::string_view process;
  for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const TraceTrack& track = trace.tracks[t];
    if (track.process != process) out += "\n" + track.process + "\n";
    process = track.process;
    std::string name = track.name;
    if (name.size() > 20) name = name.substr(0, 19) + "~";
    const double share = step > 0 ? busy_seconds(trace, t) / step : 0;
    out += fmt::format("{:<20} |{}| {:>3.0f} %\n", name, density(trace, t, 50), 100 * share);
  }
  out += "\n# busy, = more than half, - more than a tenth, . a little; % of the step.\n";
  out += fmt::format("{} slices for {} tasks, {} arrows.\n",
                     format_count(static_cast<double>(trace.slices.size())),
                     format_count(static_cast<double>(trace.tasks)),
                     format_count(static_cast<double>(trace.flows.size())));
  if (trace.fold > 1) {
    out += wrap(fmt::format("Up to {} neighbouring kernels of one phase are drawn as one slice "
                            "(--max-slices).",
                            trace.fold)) +
           "\n";
  }
  return out;
}

}  // namespace stepsight
