// A plain table for a terminal of 80 columns: columns as wide as their widest cell, numbers to the
// right.
#pragma once
#include <string>
#include <vector>

namespace stepsight {

enum class Align { left, right };

struct TextTable {
  struct Column {
    std::string header;
    Align align = Align::right;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // one cell a column; missing cells are empty

  // Lines of header, rule and rows, each ending in a line feed, two blanks between columns.
  [[nodiscard]] std::string text() const;
};

// "1.23 ms", "45.6 us", "2.5 s": three significant digits.
std::string format_seconds(double seconds);
// "1,234,567"
std::string format_count(double value);
// "12.3 GB": powers of 1000.
std::string format_bytes(double bytes);
// 0.123 -> "12.3 %"
std::string format_percent(double fraction, int digits = 1);
// Three significant digits without an exponent: "0.0123", "1.23", "1230".
std::string format_significant(double value);

}  // namespace stepsight
