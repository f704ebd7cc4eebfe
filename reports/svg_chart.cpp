#include "reports/svg_chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/chart_text.h"
#include "reports/escape.h"

namespace stepsight {

namespace {

constexpr double width = 720;

std::string open(double height, const std::string& title) {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">",
                     width,
                     height,
                     html_text(title));
}

std::string label(double x, double y, const std::string& text, const char* anchor = "start") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>",
                     x,
                     y,
                     anchor,
                     html_text(text));
}

std::string line(double x1, double y1, double x2, double y2, const char* kind) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                     kind,
                     x1,
                     y1,
                     x2,
                     y2);
}

// A round step of an axis that has about five of them.
double round_step(double largest) {
  if (!(largest > 0)) return 1;
  const double raw = largest / 5;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= raw) return times * power;
  }
  return 10 * power;
}

struct Plane {
  double left = 56, right = width - 16, top = 12, bottom = 250;
  double x0 = 0, x1 = 1, y1 = 1;  // y begins at 0

  [[nodiscard]] double x(double v) const {
    return x1 > x0 ? left + (v - x0) / (x1 - x0) * (right - left) : (left + right) / 2;
  }
  [[nodiscard]] double y(double v) const { return bottom - v / y1 * (bottom - top); }
};

double largest_of(const Chart& c) {
  double out = 0;
  for (const ChartSeries& s : c.series) {
    for (const auto& v : s.values) out = std::max(out, v.value_or(0));
    for (const double v : s.high) out = std::max(out, v);
  }
  return out;
}

std::string axes(const Chart& c, const Plane& p) {
  std::string out;
  const double step = round_step(p.y1);
  for (double v = 0; v <= p.y1 * 1.0001; v += step) {
    out += line(p.left, p.y(v), p.right, p.y(v), "grid");
    out += label(p.left - 6, p.y(v) + 4, axis_text(v, c.unit), "end");
  }
  out += label((p.left + p.right) / 2, p.bottom + 38, c.x_title, "middle");
  return out;
}

std::string legend(const Chart& c, double y) {
  std::string out;
  double x = 56;
  for (std::size_t s = 0; s < c.series.size(); ++s) {
    out += fmt::format(
        "<rect class=\"series{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"4\"/>",
        c.series[s].reference ? "-ideal" : std::to_string(s),
        x,
        y - 7);
    out += label(x + 20, y, c.series[s].name);
    x += 44 + 7.5 * static_cast<double>(c.series[s].name.size());
  }
  return out;
}

std::string polyline(const std::string& kind, const std::string& points) {
  return "<polyline class=\"" + kind + "\" points=\"" + points + "\"/>";
}

std::string lines_svg(const Chart& c) {
  Plane p;
  const auto place = [](double x) { return std::log2(std::max(x, 1e-9)); };
  p.x0 = c.x.empty() ? 0 : place(c.x.front());
  p.x1 = c.x.empty() ? 1 : place(c.x.back());
  const double largest = largest_of(c);
  p.y1 = round_step(largest) * std::ceil(largest / round_step(largest) - 1e-9);
  if (!(p.y1 > 0)) p.y1 = 1;
  std::string out = open(318, c.title) + axes(c, p);
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    out += label(p.x(place(c.x[i])), p.bottom + 18, c.categories[i], "middle");
  }
  for (std::size_t s = 0; s < c.series.size(); ++s) {
    const ChartSeries& series = c.series[s];
    const std::string kind = series.reference ? "line-ideal" : fmt::format("line{}", s);
    std::string band;
    for (std::size_t i = 0; i < series.high.size(); ++i) {
      band += fmt::format("{:.1f},{:.1f} ", p.x(place(c.x[i])), p.y(series.high[i]));
    }
    for (std::size_t i = series.low.size(); i-- > 0;) {
      band += fmt::format("{:.1f},{:.1f} ", p.x(place(c.x[i])), p.y(series.low[i]));
    }
    if (!band.empty()) out += fmt::format("<polygon class=\"band{}\" points=\"{}\"/>", s, band);
    std::string points;
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      if (!series.values[i]) continue;
      const double x = p.x(place(c.x[i]));
      const double y = p.y(*series.values[i]);
      points += fmt::format("{:.1f},{:.1f} ", x, y);
      if (series.reference) continue;
      out += fmt::format(
          "<circle class=\"series{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>", s, x, y);
    }
    out += polyline(kind, points);
  }
  return out + legend(c, 312) + "</svg>";
}

// One row a category, each bar with its figure; a waterfall's bars begin where the one before ends.
std::string bars_svg(const Chart& c) {
  constexpr double row = 26;
  const bool falls = c.kind == ChartKind::waterfall;
  const std::size_t n = c.categories.size();
  double low = 0;
  double high = 0;
  double at = 0;
  const auto value = [&](std::size_t i) { return c.series.front().values[i].value_or(0); };
  // The last row of a waterfall is the whole, from zero.
  for (std::size_t i = 0; i < n; ++i) {
    const double end = falls && i + 1 < n ? at + value(i) : value(i);
    low = std::min({low, at, end});
    high = std::max({high, at, end});
    if (falls && i + 1 < n) at = end;
  }
  const double left = 250;
  const double right = width - 100;
  const double scale = high > low ? (right - left) / (high - low) : 0;
  std::string out = open(row * static_cast<double>(n) + 10, c.title);
  at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool whole = falls && i + 1 == n;
    const double begin = falls && !whole ? at : 0;
    const double end = begin + value(i);
    const double x = left + (std::min(begin, end) - low) * scale;
    const double length = std::max(std::abs(end - begin) * scale, 1.0);
    const double y = 6 + row * static_cast<double>(i);
    out += label(left - 8, y + 15, c.categories[i], "end");
    out +=
        fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"18\"/>",
                    whole            ? "whole"
                    : value(i) < 0   ? "gain"
                    : falls && i > 0 ? "loss"
                                     : "series0",
                    x,
                    y,
                    length);
    out += label(x + length + 6, y + 14, value_text(value(i), c.unit));
    if (falls && !whole) at = end;
  }
  return out + "</svg>";
}

// Both axes on one logarithmic scale, so that the diagonal is where both agree.
std::string scatter_svg(const Chart& c) {
  double low = INFINITY;
  double high = 0;
  const auto take = [&](double v) {
    if (v > 0) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  };
  for (const double v : c.x) take(v);
  for (const auto& v : c.series.front().values) take(v.value_or(0));
  if (!(high > 0)) return open(40, c.title) + "</svg>";
  const double from = std::floor(std::log10(low));
  const double to = std::max(std::ceil(std::log10(high)), from + 1);
  const double side = 420;
  const auto place = [&](double v) { return (std::log10(v) - from) / (to - from) * side; };
  constexpr double left = 90;
  std::string out = open(side + 64, c.title);
  for (double decade = from; decade <= to + 0.5; decade += 1) {
    const double at = (decade - from) / (to - from) * side;
    out += line(left, 10 + side - at, left + side, 10 + side - at, "grid");
    out += line(left + at, 10, left + at, 10 + side, "grid");
    const std::string text = axis_text(std::pow(10.0, decade), c.unit);
    out +=
        label(left - 6, 14 + side - at, text, "end") + label(left + at, side + 28, text, "middle");
  }
  out += line(left, 10 + side, left + side, 10, "line-ideal");
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    const double y = c.series.front().values[i].value_or(0);
    if (!(c.x[i] > 0) || !(y > 0)) continue;
    out += fmt::format("<circle class=\"series0 dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>",
                       left + place(c.x[i]),
                       10 + side - place(y));
  }
  out += label(left + side / 2, side + 52, c.x_title + " / " + c.y_title, "middle");
  return out + "</svg>";
}

}  // namespace

std::string chart_svg(const Chart& chart) {
  switch (chart.kind) {
    case ChartKind::lines:
      return lines_svg(chart);
    case ChartKind::scatter:
      return scatter_svg(chart);
    case ChartKind::waterfall:
    case ChartKind::bars:
      return bars_svg(chart);
  }
  return "";
}

}  // namespace stepsight
