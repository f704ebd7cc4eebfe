#include "reports/chart_json.h"

#include <array>

#include "reports/escape.h"

namespace stepsight {

namespace {

template <typename Range, typename Write>
std::string list(const Range& items, Write write) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ", ";
    out += write(item);
  }
  return out + "]";
}

std::string series_json(const ChartSeries& s) {
  std::string out = "{\"key\": " + json_string(s.key) + ", \"name\": " + json_string(s.name);
  out += ", \"values\": " + list(s.values, [](const std::optional<double>& v) {
           return v ? number_json(*v) : std::string("null");
         });
  if (!s.low.empty()) {
    out += ", \"low\": " + list(s.low, number_json) + ", \"high\": " + list(s.high, number_json);
  }
  if (s.reference) out += ", \"reference\": true";
  return out + "}";
}

}  // namespace

std::string chart_json(const Chart& c) {
  constexpr std::array kinds{"lines", "waterfall", "bars", "scatter"};
  std::string out = "{\"id\": " + json_string(c.id) + ", \"title\": " + json_string(c.title);
  out += ", \"kind\": \"" + std::string(kinds[static_cast<std::size_t>(c.kind)]) + "\"";
  out += ", \"x_title\": " + json_string(c.x_title) + ", \"y_title\": " + json_string(c.y_title);
  out += ", \"unit\": " + json_string(c.unit);
  out += ", \"categories\": " + list(c.categories, json_string);
  out += ", \"x\": " + list(c.x, number_json);
  if (!c.labels.empty()) out += ", \"labels\": " + list(c.labels, json_string);
  return out + ", \"series\": " + list(c.series, series_json) + "}";
}

}  // namespace stepsight
