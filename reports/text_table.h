// A plain table for a terminal of 80 columns: columns as wide as their widest cell, numbers to the
// right.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/text_width.h"

namespace stepsight {

inline constexpr std::size_t terminal_width = 80;

enum class Align { left, right };

struct TextTable {
  struct Column {
    std::string header;
    Align align = Align::right;
    int rank = 0;  // fitted() gives up the column of the highest rank first; 0: never
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // one cell a column; missing cells are empty

  // Lines of header, rule and rows, each ending in a line feed, two blanks between columns.
  [[nodiscard]] std::string text() const;
  // The rows alone.
  [[nodiscard]] std::string body() const;
  // text() of as many columns as there is room for; columns of one rank go together. Where those
  // that are never given up need more, each row takes several lines.
  [[nodiscard]] std::string fitted(std::size_t room = terminal_width) const;
};

// A name and its part of a whole, in seconds.
using Part = std::pair<std::string, double>;
// One line a part and one for the whole, each with its time, its share and a bar. The printed times
// add up to the printed whole, and the printed shares to 100 %: what rounding leaves over goes to
// the largest part.
std::string parts_text(const std::vector<Part>& parts, const std::string& whole_name, double whole);

// A cell of a CSV file, quoted where it has to be (RFC 4180).
std::string csv_cell(const std::string& text);

// "1.23 ms", "45.6 us", "2.5 s": three significant digits.
std::string format_seconds(double seconds);
// "1,234,567"
std::string format_count(double value);
// "12.3 GB": powers of 1000.
std::string format_bytes(double bytes);
// 0.123 -> "12.3 %"
std::string format_percent(double fraction, int digits = 1);
// Three significant digits: "0.0123", "1.23", "1230"; below a thousandth with an exponent.
std::string format_significant(double value);

}  // namespace stepsight
