#include "reports/chart_text.h"

#include <fmt/format.h>

#include "reports/text_table.h"

namespace stepsight {

std::string value_text(double value, const std::string& unit) {
  if (unit == "s") return value < 0 ? "-" + format_seconds(-value) : format_seconds(value);
  if (unit == "bytes") return format_bytes(value);
  if (unit == "x") return fmt::format("{:.2f}x", value);
  if (unit == "share") return format_percent(value);
  return format_significant(value);
}

std::string axis_text(double value, const std::string& unit) {
  if (value == 0) return "0";
  if (unit == "s") {
    return value >= 1      ? fmt::format("{:g} s", value)
           : value >= 1e-3 ? fmt::format("{:g} ms", value * 1e3)
                           : fmt::format("{:g} us", value * 1e6);
  }
  if (unit == "x") return fmt::format("{:g}x", value);
  if (unit == "share") return fmt::format("{:g} %", 100 * value);
  return unit == "bytes" ? format_bytes(value) : fmt::format("{:g}", value);
}

}  // namespace stepsight
