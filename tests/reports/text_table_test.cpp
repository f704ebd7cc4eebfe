#include "reports/text_table.h"

#include <cmath>
#include <random>
#include <sstream>

#include "tests/catch2.h"

namespace stepsight {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TextTable three_columns() {
  TextTable table;
  table.columns = {{"name", Align::left}, {"minor", Align::right, 2}, {"least", Align::right, 1}};
  table.rows = {{"a", "1", "22"}, {"bcdefg", "333"}};
  return table;
}

// What parts_text prints in one of its columns, as whole numbers of the last digit.
long long digits_before(const std::string& line, const std::string& unit) {
  const std::size_t end = line.rfind(" " + unit);
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] != ' ') --begin;
  std::string digits;
  for (const char c : line.substr(begin, end - begin)) {
    if (c != '.') digits += c;
  }
  return std::stoll(digits);
}

}  // namespace

TEST_CASE("A table is as wide as its cells, and a missing cell is blank") {
  CHECK(three_columns().text() ==
        "name    minor  least\n"
        "------  -----  -----\n"
        "a           1     22\n"
        "bcdefg    333\n");
  CHECK(three_columns().body() ==
        "a         1  22\n"
        "bcdefg  333\n");
}

TEST_CASE("A table gives up columns by rank, highest first, until it fits") {
  const TextTable table = three_columns();  // 20 columns wide
  CHECK(lines_of(table.fitted(20)).front() == "name    minor  least");
  CHECK(lines_of(table.fitted(19)).front() == "name    least");
  CHECK(lines_of(table.fitted(12)).front() == "name");
  // A column without a rank stays whatever the room.
  CHECK(lines_of(table.fitted(1)).front() == "name");
}

TEST_CASE("A table whose columns all stay takes several lines a row where it is too wide") {
  TextTable table;
  table.columns = {{"model", Align::left}, {"batch"}, {"link", Align::left}, {"step"}};
  table.rows = {{"gpt2", "8", "nvlink4-nvswitch", "1.25 s"}, {"llama", "16", "pcie4", "12.5 s"}};
  CHECK(table.fitted(24) ==
        "model  batch\n"
        "    link\n"
        "      step\n"
        "--------------------\n"
        "gpt2       8\n"
        "    nvlink4-nvswitch\n"
        "    1.25 s\n"
        "llama     16\n"
        "    pcie4\n"
        "    12.5 s\n");
  for (std::size_t room = 20; room < 50; ++room) {
    for (const std::string& line : lines_of(table.fitted(room))) CHECK(text_width(line) <= room);
  }
}

TEST_CASE("Cells of more bytes than columns are lined up by columns") {
  TextTable table;
  table.columns = {{"x"}};
  table.rows = {{"\xC2\xB5s"}, {"abc"}};
  CHECK(table.body() == " \xC2\xB5s\nabc\n");
}

TEST_CASE("The printed parts add up to the printed whole, and their shares to 100 %") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::uniform_real_distribution<double> logarithm(-6, 2);
    std::uniform_int_distribution<int> count(1, 6);
    std::vector<Part> parts(static_cast<std::size_t>(count(random)));
    double whole = 0;
    for (Part& part : parts) {
      part = {"part", std::pow(10, logarithm(random))};
      whole += part.second;
    }
    const std::vector<std::string> lines = lines_of(parts_text(parts, "whole", whole));
    REQUIRE(lines.size() == parts.size() + 1);
    const std::string unit = whole >= 1 ? "s" : whole >= 1e-3 ? "ms" : "us";
    long long time = 0;
    long long share = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      time += digits_before(lines[i], unit + " ");
      share += digits_before(lines[i], "%");
    }
    INFO(parts_text(parts, "whole", whole));
    CHECK(time == digits_before(lines.back(), unit + " "));
    CHECK(share == 1000);
  }
}

TEST_CASE("A text is broken at blanks, no line longer than asked, no word lost") {
  CHECK(wrap("one two three", 7) == "one two\nthree");
  CHECK(wrap("one two three", 13) == "one two three");
  CHECK(wrap("extraordinary", 5) == "extraordinary");
  CHECK(wrap("", 5).empty());
}

TEST_CASE("Numbers carry three significant digits and a unit that suits them") {
  CHECK(format_significant(1234.5) == "1234");
  CHECK(format_significant(0.012345) == "0.0123");
  CHECK(format_significant(-2.5) == "-2.50");
  CHECK(format_significant(1.234e-5) == "1.23e-05");
  CHECK(format_significant(0) == "0");
  CHECK(format_significant(std::nan("")) == "-");
  CHECK(format_seconds(0.0123) == "12.3 ms");
  CHECK(format_seconds(2) == "2.00 s");
  CHECK(format_seconds(4.56e-5) == "45.6 us");
  CHECK(format_count(1234567) == "1,234,567");
  CHECK(format_count(-123) == "-123");
  CHECK(format_bytes(1.5e9) == "1.50 GB");
  CHECK(format_percent(0.1234) == "12.3 %");
}

}  // namespace stepsight
