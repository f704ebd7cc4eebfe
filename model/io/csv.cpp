#include "model/io/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "model/errors.h"
#include "model/nearest.h"

namespace stepsight {
namespace {

constexpr std::size_t most_fields = 4096;

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// The number that the whole text is, if it is one; from_chars takes neither "+5" nor "5 ".
template <typename Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [at, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{} || at != end) return std::nullopt;
  return number;
}

}  // namespace

CsvReader::CsvReader(std::string file, std::string_view text)
    : file_(std::move(file)), text_(text) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text_.starts_with(byte_order_mark)) line_start_ = at_ = byte_order_mark.size();
}

void CsvReader::fail(const std::string& message) const {
  const auto column = static_cast<std::uint32_t>(at_ - line_start_ + 1);
  throw UserError(locate(file_, {line_, column}, message));
}

// Steps over a line end, if the reader stands before one.
bool CsvReader::end_of_line() {
  if (at_ < text_.size() && text_[at_] == '\r') {
    if (at_ + 1 >= text_.size() || text_[at_ + 1] != '\n') fail("a carriage return alone");
    ++at_;
  }
  if (at_ < text_.size() && text_[at_] != '\n') return false;
  if (at_ < text_.size()) ++at_;
  ++line_;
  line_start_ = at_;
  return true;
}

// What a plain field may not hold: its end, or a quote. A table is one look a character.
constexpr auto special = [] {
  std::array<bool, 256> table{};
  for (const char c : {',', '\n', '\r', '"'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

std::string_view CsvReader::plain_field() {
  const char* const begin = text_.data() + at_;
  const char* const end = text_.data() + text_.size();
  const char* c = begin;
  while (c != end && !special[static_cast<unsigned char>(*c)]) ++c;
  at_ += static_cast<std::size_t>(c - begin);
  if (c != end && *c == '"') fail("a quote inside a field that does not begin with one");
  return {begin, static_cast<std::size_t>(c - begin)};
}

std::string_view CsvReader::quoted_field() {
  const std::size_t start = ++at_;
  const Position opened{line_, static_cast<std::uint32_t>(at_ - line_start_)};
  bool doubled = false;
  while (at_ < text_.size()) {
    if (text_[at_] == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    } else if (text_[at_] == '"') {
      if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
      doubled = true;
      ++at_;
    }
    ++at_;
  }
  if (at_ >= text_.size()) throw UserError(locate(file_, opened, "this quote is not closed"));
  const std::string_view inside = text_.substr(start, at_ - start);
  ++at_;
  const bool ends =
      at_ >= text_.size() || text_[at_] == ',' || text_[at_] == '\n' || text_[at_] == '\r';
  if (!ends) fail("a closing quote must be followed by a comma or the end of the line");
  if (!doubled) return inside;
  std::string& plain = unescaped_.emplace_back();
  for (std::size_t i = 0; i < inside.size(); ++i) {
    plain += inside[i];
    if (inside[i] == '"') ++i;
  }
  return plain;
}

Position CsvReader::position(std::size_t field) const {
  const char* const begin = text_.data();
  const char* const cell = fields_[field].data();
  const std::less<> before;
  if (before(cell, begin) || before(begin + text_.size(), cell)) return {record_line_, 1};
  const std::string_view ahead = text_.substr(0, static_cast<std::size_t>(cell - begin));
  const std::size_t line_end = ahead.rfind('\n');
  const std::size_t start = line_end == std::string_view::npos ? 0 : line_end + 1;
  return {record_line_, static_cast<std::uint32_t>(ahead.size() - start + 1)};
}

bool CsvReader::next() {
  fields_.clear();
  unescaped_.clear();
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) end_of_line();
  if (at_ >= text_.size()) return false;
  record_line_ = line_;
  while (true) {
    if (fields_.size() >= most_fields) fail("more than 4096 fields in a record");
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    fields_.push_back(quoted ? quoted_field() : plain_field());
    if (end_of_line()) return true;
    ++at_;  // the comma: nothing else ends a field within a line
  }
}

CsvTable::CsvTable(std::string file, std::string_view text)
    : reader_(file, text), errors_(std::move(file)) {
  if (!reader_.next()) {
    throw UserError(locate(errors_.file(),
                           {1, 1},
                           "is empty: a header with the column names was "
                           "expected"));
  }
  for (const std::string_view name : reader_.fields()) header_.emplace_back(trim(name));
  std::vector<std::string> sorted = header_;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    throw UserError(
        locate(errors_.file(), {1, 1}, fmt::format("the column '{}' appears twice", *twice)));
  }
}

std::size_t CsvTable::optional_column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  return found == header_.end() ? absent : static_cast<std::size_t>(found - header_.begin());
}

std::size_t CsvTable::column(std::string_view name) {
  const std::size_t place = optional_column(name);
  if (place != absent) return place;
  std::string instead;
  // Headers have many names that are alike (std_dp, std_gpu): only a plain slip is worth a word.
  const auto close = nearest(name, std::span<const std::string>(header_));
  if (close && edit_distance(*close, name) <= 1) instead = fmt::format(" (there is '{}')", *close);
  errors_.add({1, 1}, fmt::format("missing column '{}'{}", name, instead));
  return absent;
}

bool CsvTable::next() {
  while (!errors_.full() && reader_.next()) {
    const std::size_t fields = reader_.fields().size();
    if (fields == header_.size()) return true;
    errors_.add({reader_.line(), 1},
                fmt::format("{} fields, but the header has {}", fields, header_.size()));
  }
  return false;
}

std::string_view CsvTable::text(std::size_t column) const {
  return column == absent ? std::string_view{} : trim(reader_.fields()[column]);
}

void CsvTable::mistake(std::size_t column, const std::string& message) {
  if (column == absent) throw std::logic_error("a mistake in a column that is absent");
  errors_.add(reader_.position(column),
              fmt::format("column '{}' {}", header_[column].substr(0, 60), message));
}

double CsvTable::number(std::size_t column, double least, double most) {
  const std::string_view cell = text(column);
  const std::optional<double> number = parse<double>(cell);
  // Written so that NaN fails.
  if (number && std::isfinite(*number) && *number >= least && *number <= most) return *number;
  mistake(
      column,
      fmt::format(
          "must be a number from {:.10g} to {:.10g}, got \"{}\"", least, most, cell.substr(0, 60)));
  return least;
}

std::int64_t CsvTable::integer(std::size_t column, std::int64_t least, std::int64_t most) {
  const std::string_view cell = text(column);
  std::optional<std::int64_t> integer = parse<std::int64_t>(cell);
  if (!integer) {
    // Spreadsheets write 1024.0 for 1024.
    const std::optional<double> real = parse<double>(cell);
    if (real && std::abs(*real) < 9e15 && *real == std::floor(*real)) {
      integer = static_cast<std::int64_t>(*real);
    }
  }
  if (integer && *integer >= least && *integer <= most) return *integer;
  mistake(
      column,
      fmt::format("must be an integer from {} to {}, got \"{}\"", least, most, cell.substr(0, 60)));
  return least;
}

std::optional<double> CsvTable::optional_number(std::size_t column, double least, double most) {
  if (text(column).empty()) return std::nullopt;
  return number(column, least, most);
}

std::optional<std::int64_t> CsvTable::optional_integer(std::size_t column,
                                                       std::int64_t least,
                                                       std::int64_t most) {
  if (text(column).empty()) return std::nullopt;
  return integer(column, least, most);
}

}  // namespace stepsight
