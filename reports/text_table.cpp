#include "reports/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepsight {

namespace {

// Columns on the terminal: UTF-8 continuation bytes take none.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string pad(const std::string& text, std::size_t to, Align align) {
  const std::string blanks(to - std::min(to, width(text)), ' ');
  return align == Align::left ? text + blanks : blanks + text;
}

}  // namespace

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (const Column& c : columns) widths.push_back(width(c.header));
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  const auto line = [&](auto cell) {
    std::string out;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) out += "  ";
      out += pad(cell(i), widths[i], columns[i].align);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
  };
  std::string out = line([&](std::size_t i) { return columns[i].header; });
  out += line([&](std::size_t i) { return std::string(widths[i], '-'); });
  for (const auto& row : rows) {
    out += line([&](std::size_t i) { return i < row.size() ? row[i] : std::string(); });
  }
  return out;
}

std::string format_significant(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  return fmt::format("{:.{}f}", value, std::max(0, 2 - magnitude));
}

std::string format_seconds(double seconds) {
  const double a = std::abs(seconds);
  if (a >= 1) return format_significant(seconds) + " s";
  if (a >= 1e-3) return format_significant(seconds * 1e3) + " ms";
  return format_significant(seconds * 1e6) + " us";
}

std::string format_count(double value) {
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (std::ptrdiff_t i = std::ssize(digits) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  if (value < 0) digits.insert(digits.begin(), '-');
  return digits;
}

std::string format_bytes(double bytes) {
  const double a = std::abs(bytes);
  if (a >= 1e12) return format_significant(bytes / 1e12) + " TB";
  if (a >= 1e9) return format_significant(bytes / 1e9) + " GB";
  if (a >= 1e6) return format_significant(bytes / 1e6) + " MB";
  if (a >= 1e3) return format_significant(bytes / 1e3) + " kB";
  return format_significant(bytes) + " B";
}

std::string format_percent(double fraction, int digits) {
  return fmt::format("{:.{}f} %", fraction * 100, digits);
}

}  // namespace stepsight
