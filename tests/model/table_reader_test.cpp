#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "model/io/error_list.h"
#include "model/io/read_file.h"
#include "model/io/table.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

// Reads `text` with `read` and returns every mistake, a line each.
template <typename Read>
std::string mistakes(const std::string& text, const Read& read) {
  return message_of([&] {
    const Value root = parse_toml("x.toml", text);
    ErrorList errors("x.toml");
    Table table(root, errors);
    read(table);
    table.finish();
    errors.throw_if_any();
  });
}

std::string syntax(const std::string& text) {
  return message_of([&] { parse_toml("x.toml", text); });
}

std::string json(const std::string& text) {
  return message_of([&] { parse_json("x.json", text); });
}

}  // namespace

TEST_CASE("an unknown key is reported with its place and the nearest known one") {
  const std::string text = "title = \"t\"\n\n[training]\nbach = 4\n";
  CHECK(mistakes(text, [](Table& table) {
          table.optional_string("title");
          Table training = table.sub_table("training");
          training.optional_int("batch", 1);
          training.finish();
        }) == "x.toml:4:1: unknown key 'bach' in [training]; did you mean 'batch'?");
}

TEST_CASE("a key unlike any known one gets no suggestion, an unknown table is called a table") {
  CHECK(mistakes("[zzzzzz]\na = 1\n", [](Table& table) { table.optional_int("batch", 1); }) ==
        "x.toml:1:2: unknown table 'zzzzzz' in the file");
}

TEST_CASE("all mistakes of a file come at once, in its order") {
  const std::string text = "b = -1\na = \"x\"\nc = nan\nd = 4\n";
  const std::string found = mistakes(text, [](Table& table) {
    table.require_int("a", 1, 10);
    table.require_int("b", 0, 10);
    table.require_number("c", 0);
    table.require_string("e");
  });
  CHECK(found ==
        "x.toml:1:1: missing key 'e' in the file\n"
        "x.toml:1:5: 'b' must be an integer from 0 to 10, got -1\n"
        "x.toml:2:5: 'a' must be an integer from 1 to 10, got \"x\"\n"
        "x.toml:3:5: 'c' must be a number of at least 0, got nan\n"
        "x.toml:4:1: unknown key 'd' in the file");
}

TEST_CASE("an integer may be written as a whole real number, and only so") {
  const Value root = parse_toml("x.toml", "a = 4.0\nb = 4e3\n");
  ErrorList errors("x.toml");
  Table table(root, errors);
  CHECK(table.require_int("a", 1, 10) == 4);
  CHECK(table.require_int("b", 1, 10000) == 4000);
  CHECK(errors.empty());
  CHECK(mistakes("a = 4.5", [](Table& t) { t.require_int("a", 1, 10); }) ==
        "x.toml:1:5: 'a' must be an integer from 1 to 10, got 4.5");
  CHECK_FALSE(mistakes("a = 1e300", [](Table& t) { t.require_int("a", 1); }).empty());
}

TEST_CASE("numbers that are not finite are mistakes whatever the range") {
  for (const char* value : {"nan", "-nan", "inf", "-inf"}) {
    INFO(value);
    CHECK_FALSE(mistakes(std::string("a = ") + value, [](Table& t) {
                  t.require_number("a", -any_number);
                }).empty());
    CHECK_FALSE(
        mistakes(std::string("a = ") + value, [](Table& t) { t.require_int("a", 1); }).empty());
  }
}

TEST_CASE("the bounds of a range belong to it") {
  const auto read = [](Table& t) { t.require_number("a", 0.5, 2); };
  CHECK(mistakes("a = 0.5", read).empty());
  CHECK(mistakes("a = 2", read).empty());
  CHECK_FALSE(mistakes("a = 2.0000001", read).empty());
  CHECK_FALSE(mistakes("a = 0.4999999", read).empty());
}

TEST_CASE("a wrong word is answered with the list and the nearest word") {
  static constexpr std::array<std::string_view, 3> words{"adamw", "sgd", "lion"};
  const auto read = [](Table& t) { t.require_choice("optimizer", words); };
  CHECK(mistakes("optimizer = \"sgd\"", read).empty());
  CHECK(mistakes("optimizer = \"adam\"", read) ==
        "x.toml:1:13: 'optimizer' must be one of adamw, sgd, lion, got \"adam\"; did you mean "
        "'adamw'?");
  CHECK(mistakes("optimizer = 3", read) ==
        "x.toml:1:13: 'optimizer' must be one of adamw, sgd, lion, got 3");
}

TEST_CASE("each getter says what it expected of a value of the wrong type") {
  CHECK(mistakes("a = 1", [](Table& t) { t.require_bool("a"); }) ==
        "x.toml:1:5: 'a' must be true or false, got 1");
  CHECK(mistakes("a = 1", [](Table& t) { t.require_string("a"); }) ==
        "x.toml:1:5: 'a' must be a string that is not empty, got 1");
  CHECK(mistakes("a = 1", [](Table& t) { t.sub_table("a"); }) ==
        "x.toml:1:5: 'a' must be a table, got 1");
  CHECK(mistakes("a = [1, \"x\"]", [](Table& t) { t.numbers("a", 0); }) ==
        "x.toml:1:9: 'a' must be a number of at least 0, got \"x\"");
  CHECK(mistakes("a = 2024-01-01", [](Table& t) { t.require_number("a", 0); }) ==
        "x.toml:1:5: 'a' must be a number of at least 0, got a date or time");
  CHECK(mistakes("a = 1\n", [](Table& t) { t.array_of_tables("a"); }) ==
        "x.toml:1:5: 'a' must be an array of tables ([[a]]), got 1");
}

TEST_CASE("tables within tables are named by their path") {
  const std::string text = "[fit.gemm]\nx = 1\n[[fit.points]]\nm = 1\n[[fit.points]]\nm = 0\n";
  CHECK(mistakes(text,
                 [](Table& t) {
                   Table fit = t.sub_table("fit");
                   Table gemm = fit.sub_table("gemm");
                   gemm.optional_int("y", 1);
                   gemm.finish();
                   for (Table& point : fit.array_of_tables("points")) point.require_int("m", 1, 9);
                   fit.finish();
                 }) ==
        "x.toml:2:1: unknown key 'x' in [fit.gemm]\n"
        "x.toml:6:5: 'm' in [fit.points] must be an integer from 1 to 9, got 0");
}

TEST_CASE("a table that is absent has no keys and lacks the required ones") {
  const Value root = parse_toml("x.toml", "");
  ErrorList errors("x.toml");
  Table table(root, errors);
  Table link = table.sub_table("link");
  CHECK_FALSE(link.present());
  CHECK_FALSE(link.optional_number("busbw_GBps", 0));
  CHECK(link.keys().empty());
  CHECK(errors.empty());
  link.require_number("busbw_GBps", 0);
  CHECK(errors.size() == 1);
}

TEST_CASE("keys are told in the order of the file") {
  const Value root = parse_toml("x.toml", "z = 1\na = 2\nm = 3\n");
  ErrorList errors("x.toml");
  CHECK(Table(root, errors).keys() == std::vector<std::string>{"z", "a", "m"});
}

TEST_CASE("syntax errors, duplicate keys and binary data are told with line and column") {
  CHECK_THAT(syntax("a = 1\nb = \n"), match::StartsWith("x.toml:2:"));
  CHECK_THAT(syntax("a = 1\n\na = 2\n"), match::StartsWith("x.toml:3:"));
  CHECK_THAT(syntax("[a\n"), match::StartsWith("x.toml:1:"));
  CHECK_THAT(syntax(std::string("\x00\x01\xff\xfe", 4)), match::StartsWith("x.toml:1:"));
  CHECK_THAT(syntax("a = 99999999999999999999999"), match::StartsWith("x.toml:1:"));
}

TEST_CASE("a key of very many dots is refused before it becomes a tree as deep") {
  std::string key = "a";
  for (int i = 0; i < 400000; ++i) key += ".a";
  CHECK(syntax("x = 1\n" + key + " = 1") == "x.toml:2:34: this key is nested too deep");
  CHECK_THAT(syntax("[" + key + "]"), match::StartsWith("x.toml:1:"));
  CHECK_THAT(syntax("x = {" + key + " = 1}"), match::StartsWith("x.toml:1:"));
  CHECK_FALSE(syntax(std::string(100000, '[')).empty());
}

// toml++ 3.3 reaches what it marks as unreachable on some of these.
TEST_CASE(
    "a character beyond ASCII stands in strings and comments only, and is refused by its place "
    "elsewhere") {
  for (const char32_t c :
       {0xA0U, 0xE9U, 0x400U, 0x1680U, 0x2000U, 0x2E80U, 0x3000U, 0xFA30U, 0xFEFFU, 0x1F600U}) {
    std::string utf8;
    if (c < 0x800) {
      utf8 = {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3F))};
    } else if (c < 0x10000) {
      utf8 = {static_cast<char>(0xE0 | (c >> 12)),
              static_cast<char>(0x80 | ((c >> 6) & 0x3F)),
              static_cast<char>(0x80 | (c & 0x3F))};
    } else {
      utf8 = {static_cast<char>(0xF0 | (c >> 18)),
              static_cast<char>(0x80 | ((c >> 12) & 0x3F)),
              static_cast<char>(0x80 | ((c >> 6) & 0x3F)),
              static_cast<char>(0x80 | (c & 0x3F))};
    }
    INFO(static_cast<std::uint32_t>(c));
    for (const std::string& text :
         {"x" + utf8 + " = 1", "x = " + utf8 + "1", "[x" + utf8 + "]", "x = 1" + utf8}) {
      CHECK_THAT(syntax("y = 2\n" + text),
                 match::ContainsSubstring("x.toml:2:") && match::ContainsSubstring("beyond ASCII"));
    }
    CHECK_NOTHROW(parse_toml(
        "x.toml", "x = \"" + utf8 + "\" # " + utf8 + "\n\"" + utf8 + "\" = '" + utf8 + "'\n"));
  }
  CHECK_NOTHROW(parse_toml("x.toml", "\xEF\xBB\xBFx = 1\n"));
}

TEST_CASE("dots in strings, comments and numbers do not make a key deep") {
  const std::string dots(50, '.');
  CHECK(syntax("a = \"" + dots + "\"\nb = '" + dots + "' # " + dots + "\nc = [0.1, 0.2, 0.3]\n") ==
        "");
  CHECK(syntax("a = \"\"\"\n" + dots + "\\\"\n\"\"\"\nb = '''\n" + dots + "''' \nc = 1.5\n") == "");
}

TEST_CASE("a text beyond its bound is refused without being parsed") {
  const std::string garbage(10 * megabyte, '\xff');
  CHECK(message_of([&] { check_size("x.toml", garbage, megabyte, "a scenario"); }) ==
        "x.toml:1:1: is larger than 1 MB, the most a scenario may have");
  CHECK(message_of([&] { check_size("x.toml", "a = 1", megabyte, "a scenario"); }).empty());
}

TEST_CASE("mistakes beyond a hundred are cut with a note, and one mistake counts once") {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "k" + std::to_string(i) + " = 1\n";
  const std::string found = mistakes(text, [](Table&) {});
  CHECK(std::count(found.begin(), found.end(), '\n') == 100);
  CHECK_THAT(found, match::ContainsSubstring("only the first 100 are shown"));
  ErrorList errors("x.toml");
  errors.add({1, 2}, "same");
  errors.add({1, 2}, "same");
  CHECK(errors.size() == 1);
}

TEST_CASE("JSON keys carry their line and column, null counts as absent") {
  const Value root = parse_json("x.json", "{\n  \"a\": null,\n  \"bcd\": {\"e\": -1}\n}");
  ErrorList errors("x.json");
  Table table(root, errors);
  CHECK_FALSE(table.optional_int("a", 1));
  Table inner = table.sub_table("bcd");
  inner.require_int("e", 0, 5);
  CHECK(message_of([&] { errors.throw_if_any(); }) ==
        "x.json:3:11: 'e' in [bcd] must be an integer from 0 to 5, got -1");
}

TEST_CASE("malformed JSON is told with line and column") {
  CHECK_THAT(json("{\n  \"a\": 1,\n}"), match::StartsWith("x.json:3:1: "));
  CHECK_THAT(json(""), match::StartsWith("x.json:1:1: "));
  CHECK_THAT(json("{\"a\": 1, \"a\": 2}"), match::ContainsSubstring("'a' appears twice"));
  CHECK_THAT(json("{\"a\": 1e999}"), match::StartsWith("x.json:1:"));
  CHECK_THAT(json("{\"a\": NaN}"), match::StartsWith("x.json:1:"));
  CHECK_THAT(json("{\"a\": 18446744073709551615}"), match::ContainsSubstring("too large"));
  CHECK_THAT(json(std::string(100000, '[')), match::ContainsSubstring("nested too deep"));
  CHECK_THAT(json("{\"a\": \"\xff\"}"), match::StartsWith("x.json:1:"));
}

TEST_CASE("a JSON file that is no object is no table") {
  const Value root = parse_json("x.json", "[1, 2]");
  ErrorList errors("x.json");
  Table table(root, errors);
  CHECK(message_of([&] { errors.throw_if_any(); }) ==
        "x.json:1:1: expected a table of keys, got an array");
}
