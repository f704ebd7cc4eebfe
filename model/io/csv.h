// Comma-separated values as RFC 4180 describes them, for tables of millions of cells: fields are
// views into the text (or, where a doubled quote had to be undone, into the reader).
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/io/error_list.h"

namespace stepsight {

// Splits a text into records. Accepts \n, \r\n and a missing last line end, a byte order mark, and
// quoted fields with commas, line ends and "" in them; skips blank lines. Throws UserError
// (file:line:column) for a quote that is not closed or stands inside a field, and for more than
// 4096 fields in a record.
class CsvReader {
 public:
  // `text` must outlive the reader.
  CsvReader(std::string file, std::string_view text);

  // Reads the next record; false at the end of the text. The fields of the record before become
  // invalid.
  bool next();
  std::span<const std::string_view> fields() const { return fields_; }
  std::uint32_t line() const { return record_line_; }  // where the record began, from 1
  const std::string& file() const { return file_; }
  // Where a field of the record begins; where the record does for a field with doubled quotes.
  Position position(std::size_t field) const;

 private:
  std::string_view quoted_field();
  std::string_view plain_field();
  bool end_of_line();
  [[noreturn]] void fail(const std::string& message) const;

  std::string file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t record_line_ = 0;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unescaped_;
};

// A CSV with a header: columns by name, cells checked, all mistakes collected as
// "file:line:column: column 'm' must be ...".
//
//   CsvTable table(path, text);
//   const auto m = table.column("m");
//   table.check_columns();
//   while (table.next()) points.push_back({table.integer(m, 1, any_int), ...});
//   table.finish();
class CsvTable {
 public:
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  // Reads the header; an empty text or a column that appears twice throws UserError. `text` must
  // outlive the table.
  CsvTable(std::string file, std::string_view text);

  // The place of a column. One that is missing is noted by column() and `absent` from
  // optional_column(), whose cells are all empty.
  std::size_t column(std::string_view name);
  std::size_t optional_column(std::string_view name) const;
  // Throws UserError that names every column that column() did not find.
  void check_columns() const { errors_.throw_if_any(); }

  // The next record; a record with another number of fields than the header is a mistake and
  // skipped. False at the end or after ErrorList::most mistakes.
  bool next();
  std::uint32_t line() const { return reader_.line(); }

  // The cell without surrounding blanks. A mistake (not a number, not finite, out of range, empty)
  // is noted and gives `least`; the optional forms give nothing for an empty cell.
  std::string_view text(std::size_t column) const;
  double number(std::size_t column, double least, double most);
  std::int64_t integer(std::size_t column, std::int64_t least, std::int64_t most);
  std::optional<double> optional_number(std::size_t column, double least, double most);
  std::optional<std::int64_t> optional_integer(std::size_t column,
                                               std::int64_t least,
                                               std::int64_t most);
  // Notes a mistake of the caller's own about a cell.
  void mistake(std::size_t column, const std::string& message);

  // Throws UserError with every mistake; nothing read may be used before.
  void finish() const { errors_.throw_if_any(); }

 private:
  CsvReader reader_;
  ErrorList errors_;
  std::vector<std::string> header_;
};

}  // namespace stepsight
