#include "reports/text_table.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

namespace stepsight {

namespace {

std::string pad(const std::string& text, std::size_t to, Align align) {
  const std::string blanks(to - std::min(to, text_width(text)), ' ');
  return align == Align::left ? text + blanks : blanks + text;
}

std::vector<std::size_t> widths_of(const TextTable& table, bool with_header) {
  std::vector<std::size_t> widths;
  for (const TextTable::Column& c : table.columns) {
    widths.push_back(with_header ? text_width(c.header) : 0);
  }
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], text_width(row[i]));
    }
  }
  return widths;
}

template <typename Cell>
std::string line_of(const TextTable& table, const std::vector<std::size_t>& widths, Cell cell) {
  std::string out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) out += "  ";
    out += pad(cell(i), widths[i], table.columns[i].align);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string rows_of(const TextTable& table, const std::vector<std::size_t>& widths) {
  std::string out;
  for (const auto& row : table.rows) {
    out += line_of(
        table, widths, [&](std::size_t i) { return i < row.size() ? row[i] : std::string(); });
  }
  return out;
}

TextTable without_rank(const TextTable& table, int rank) {
  TextTable out;
  out.rows.resize(table.rows.size());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].rank == rank) continue;
    out.columns.push_back(table.columns[i]);
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      out.rows[r].push_back(i < table.rows[r].size() ? table.rows[r][i] : std::string());
    }
  }
  return out;
}

// A part of a bar that is `whole` columns long.
std::string bar(double share, std::size_t whole) {
  const double columns = std::clamp(share, 0.0, 1.0) * static_cast<double>(whole);
  return std::string(static_cast<std::size_t>(std::lround(columns)), '#');
}

// What names, times and shares leave of a line, at most a third of it.
std::size_t room_for_bars(const std::vector<Part>& parts, const std::string& whole_name) {
  constexpr std::size_t figures = 24;  // "1000.0 ms", "100.0 %" and the blanks between columns
  std::size_t name = text_width(whole_name);
  for (const Part& part : parts) name = std::max(name, text_width(part.first));
  return std::min(terminal_width / 3, terminal_width - std::min(terminal_width, name + figures));
}

// The values as whole numbers of 1 / scale that add up to the whole's; the largest takes the rest.
std::vector<long long> apportion(const std::vector<Part>& parts, double whole, double scale) {
  std::vector<long long> out;
  long long rest = std::llround(whole * scale);
  for (const Part& part : parts) {
    out.push_back(std::llround(part.second * scale));
    rest -= out.back();
  }
  const auto largest = std::ranges::max_element(parts, {}, &Part::second);
  if (largest != parts.end()) out[static_cast<std::size_t>(largest - parts.begin())] += rest;
  return out;
}

struct TimeUnit {
  const char* name;
  double seconds;
};

TimeUnit unit_of(double seconds) {
  if (seconds >= 1) return {"s", 1};
  if (seconds >= 1e-3) return {"ms", 1e-3};
  return {"us", 1e-6};
}

TextTable columns_of(const TextTable& table, std::size_t from, std::size_t to) {
  TextTable out;
  out.columns.assign(table.columns.begin() + static_cast<std::ptrdiff_t>(from),
                     table.columns.begin() + static_cast<std::ptrdiff_t>(to));
  for (const auto& row : table.rows) {
    std::vector<std::string>& cells = out.rows.emplace_back();
    for (std::size_t i = from; i < to; ++i)
      cells.push_back(i < row.size() ? row[i] : std::string());
  }
  return out;
}

// A table that is wider than the room: each row, and the header, over several lines, the later ones
// set in.
std::string stacked(const TextTable& table, std::size_t room) {
  constexpr std::size_t set_in = 4;
  const std::vector<std::size_t> widths = widths_of(table, true);
  std::vector<std::vector<std::string>> parts;  // lines of header, rule and rows
  std::size_t longest = 0;
  for (std::size_t from = 0; from < widths.size();) {
    const std::size_t indent = parts.empty() ? 0 : set_in;
    std::size_t to = from, total = indent;
    while (to < widths.size() && (to == from || total + widths[to] <= room))
      total += widths[to++] + 2;
    std::istringstream lines(columns_of(table, from, to).text());
    std::vector<std::string>& part = parts.emplace_back();
    for (std::string line; std::getline(lines, line);)
      part.push_back(std::string(indent, ' ') + line);
    longest = std::max(longest, total - 2);
    from = to;
  }
  std::string out;
  for (std::size_t line = 0; line < table.rows.size() + 2; ++line) {
    if (line == 1) {
      out += std::string(std::min(longest, room), '-') + "\n";
      continue;
    }
    for (const auto& part : parts) out += part[line] + "\n";
  }
  return out;
}

}  // namespace

std::string TextTable::text() const {
  const std::vector<std::size_t> widths = widths_of(*this, true);
  return line_of(*this, widths, [&](std::size_t i) { return columns[i].header; }) +
         line_of(*this, widths, [&](std::size_t i) { return std::string(widths[i], '-'); }) +
         rows_of(*this, widths);
}

std::string TextTable::body() const {
  return rows_of(*this, widths_of(*this, false));
}

std::string TextTable::fitted(std::size_t room) const {
  std::size_t total = 0;
  for (const std::size_t w : widths_of(*this, true)) total += w + 2;
  int highest = 0;
  for (const Column& c : columns) highest = std::max(highest, c.rank);
  if (total <= room + 2) return text();
  return highest == 0 ? stacked(*this, room) : without_rank(*this, highest).fitted(room);
}

std::string parts_text(const std::vector<Part>& parts,
                       const std::string& whole_name,
                       double whole) {
  const TimeUnit unit = unit_of(whole);
  const double value = whole / unit.seconds;
  // Four digits of the whole: small parts keep one or two.
  const int digits = value >= 100 ? 1 : value >= 10 ? 2 : 3;
  const double scale = std::pow(10.0, digits);
  const std::vector<long long> times = apportion(parts, whole, scale / unit.seconds);
  const std::vector<long long> shares = apportion(parts, whole, 1000 / whole);
  const auto time = [&](double scaled) {
    return fmt::format("{:.{}f} {}", scaled / scale, digits, unit.name);
  };
  const std::size_t longest = room_for_bars(parts, whole_name);
  TextTable table;
  table.columns = {{"", Align::left}, {""}, {""}, {"", Align::left}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double share = static_cast<double>(shares[i]) / 1000;
    table.rows.push_back({parts[i].first,
                          time(static_cast<double>(times[i])),
                          format_percent(share),
                          bar(share, longest)});
  }
  table.rows.push_back({whole_name, time(std::round(whole / unit.seconds * scale)), "100.0 %"});
  return table.body();
}

std::string format_significant(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  if (std::abs(value) < 1e-3) return fmt::format("{:.2e}", value);
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  return fmt::format("{:.{}f}", value, std::max(0, 2 - magnitude));
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
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
