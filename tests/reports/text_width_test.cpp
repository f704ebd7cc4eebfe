#include "reports/text_width.h"

#include <algorithm>
#include <sstream>

#include "reports/text_table.h"
#include "tests/catch2.h"

namespace stepsight {

TEST_CASE("ideographs and full-width punctuation take two columns, other characters one") {
  CHECK(text_width("") == 0);
  CHECK(text_width("step") == 4);
  CHECK(text_width("\xC2\xB5s") == 2);
  CHECK(text_width("每步耗时") == 8);
  CHECK(text_width("（8 卡）。") == 10);
  CHECK(text_width("\xF0\x9F\x9A\x80") == 2);
  // What is no UTF-8 takes a column a byte.
  CHECK(text_width("a\xFFz\xE6") == 4);
}

TEST_CASE("a text is cut between characters") {
  CHECK(cut("abcdef", 4) == "abcd");
  CHECK(cut("每步耗时", 5) == "每步");
  CHECK(cut("ab", 9) == "ab");
  CHECK(cut("a\xE6\x97", 2) == "a\xE6");
}

TEST_CASE("columns of a table line up where cells have characters of two columns") {
  TextTable table;
  table.columns = {{"组", Align::left}, {"行数"}, {"MAPE"}};
  table.rows = {{"全部", "82", "3.5 %"}, {"瓶颈为主机", "1,234", "14.2 %"}, {"gpu a100", "7", "-"}};
  std::istringstream lines(table.text());
  for (std::string line; std::getline(lines, line);) {
    // Every line ends where the column of numbers ends.
    CHECK(text_width(line) == 10 + 2 + 5 + 2 + 6);
  }
}

TEST_CASE(
    "a table with wide characters gives up columns until it fits the columns of the terminal") {
  TextTable table;
  table.columns = {{"每步耗时"}, {"弱扩展"}, {"显存占用量", Align::right, 1}};
  table.rows = {{"1", "2", "3"}};
  std::istringstream fits(table.fitted(28)), short_of(table.fitted(27));
  std::string line;
  std::getline(fits, line);
  CHECK(text_width(line) == 28);
  std::getline(short_of, line);
  CHECK(text_width(line) == 16);
}

TEST_CASE(
    "no line begins with the punctuation that ends a clause, nor ends with an opening bracket") {
  const std::string text =
      "瓶颈在主机：下发一步的内核需要（约）30 ms，GPU 执行它们只需 20 ms。增大批量、编译有帮助。";
  for (std::size_t room = 12; room < 60; ++room) {
    std::istringstream lines(wrap(text, room));
    for (std::string line; std::getline(lines, line);) {
      CHECK(text_width(line) <= room);
      for (const char* mark : {"，", "。", "：", "）", "、"}) CHECK_FALSE(line.starts_with(mark));
      CHECK_FALSE(line.ends_with("（"));
    }
  }
}

TEST_CASE("text without wide characters breaks at blanks only, and bytes that are no text stay") {
  CHECK(wrap("one two three", 7) == "one two\nthree");
  CHECK(wrap("a  b", 80) == "a  b");
  CHECK(wrap("\xFF\xFE \xE6\x97", 3) == "\xFF\xFE\n\xE6\x97");
  CHECK(wrap("", 3).empty());
}

}  // namespace stepsight
