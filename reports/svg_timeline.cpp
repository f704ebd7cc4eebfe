#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "reports/chart_text.h"
#include "reports/escape.h"
#include "reports/findings.h"
#include "reports/svg_chart.h"
#include "reports/text_width.h"

namespace stepsight {

namespace {

constexpr double width = 720;
constexpr double left = 150;
constexpr double right = width - 10;
constexpr double row = 22;

constexpr std::array<std::string_view, 6> classes{
    "forward", "backward", "sync", "update", "message", "other"};

// Rows that say most: links are seen in their communication, and of many stages the compute.
std::vector<std::uint32_t> shown_tracks(const StepTrace& trace) {
  constexpr std::size_t most = 16;
  std::vector<std::uint32_t> out;
  for (const bool compute_only : {false, true}) {
    out.clear();
    for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
      const TrackKind kind = trace.tracks[t].kind;
      if (kind == TrackKind::link || kind == TrackKind::phases) continue;
      if (!compute_only || kind == TrackKind::compute) out.push_back(t);
    }
    if (out.size() <= most) break;
  }
  if (out.size() > most) out.resize(most);
  return out;
}

struct Bar {
  double begin = 0, end = 0;
  SliceKind kind = SliceKind::other;
};

void put(std::string& out, const Bar& bar, double y) {
  out +=
      fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"16\"/>",
                  classes[static_cast<std::size_t>(bar.kind)],
                  bar.begin,
                  y,
                  std::max(bar.end - bar.begin, 0.4));
}

std::string row_svg(const StepTrace& trace, std::uint32_t track, double y) {
  const auto length = static_cast<double>(trace.end - trace.begin);
  const auto place = [&](Picoseconds t) {
    return left + static_cast<double>(t - trace.begin) / length * (right - left);
  };
  std::string out;
  std::optional<Bar> open;
  for (const TraceSlice& s : trace.slices) {
    if (s.track != track || s.end <= trace.begin || s.begin >= trace.end || s.end == s.begin)
      continue;
    const Bar bar{place(std::max(s.begin, trace.begin)), place(std::min(s.end, trace.end)), s.kind};
    if (open && open->kind == bar.kind && bar.begin - open->end < 0.5) {
      open->end = bar.end;
      continue;
    }
    if (open) put(out, *open, y);
    open = bar;
  }
  if (open) put(out, *open, y);
  return out;
}

}  // namespace

std::string timeline_svg(const StepTrace& trace,
                         const std::string& description,
                         const Words& words) {
  const std::vector<std::uint32_t> tracks = shown_tracks(trace);
  const bool several = std::ranges::any_of(tracks, [&](std::uint32_t t) {
    return trace.tracks[t].group != trace.tracks[tracks.front()].group;
  });
  const double bottom = 8 + row * static_cast<double>(tracks.size());
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">",
                  width,
                  bottom + 26,
                  html_text(description));
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const TraceTrack& track = trace.tracks[tracks[i]];
    const double y = 6 + row * static_cast<double>(i);
    std::string name = said(track.name, words);
    if (several) name = said(track.process.substr(0, track.process.find(',')), words) + " " + name;
    out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>",
                       left - 8,
                       y + 13,
                       html_text(text_width(name) > 24 ? cut(name, 23) + "~" : name));
    out += fmt::format(
        "<rect class=\"lane\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"16\"/>",
        left,
        y,
        right - left);
    out += row_svg(trace, tracks[i], y);
  }
  const double step = to_seconds(trace.end - trace.begin).value;
  for (int i = 0; i <= 4; ++i) {
    const double x = left + (right - left) * i / 4;
    out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>",
                       x,
                       bottom + 18,
                       i == 0   ? "start"
                       : i == 4 ? "end"
                                : "middle",
                       i == 0 ? "0" : html_text(value_text(step * i / 4, "s")));
  }
  return out + "</svg>";
}

}  // namespace stepsight
