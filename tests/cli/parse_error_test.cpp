#include "cli/parse_error.h"

#include <CLI/CLI.hpp>

#include "tests/catch2.h"

using namespace stepsight;

namespace {

// What a person is told who types `line` into a program with one subcommand and a few flags.
std::string told(const std::string& line) {
  CLI::App app("test", "stepsight");
  app.require_subcommand(1);
  CLI::App* predict = app.add_subcommand("predict");
  int batch = 0;
  predict->add_option("--batch", batch);
  predict->add_flag("--json");
  try {
    app.parse(line);
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
  return "no error";
}

}  // namespace

TEST_CASE("a slip in a subcommand's name is answered with the name", "[cli]") {
  CHECK(told("predcit") ==
        "unknown command `predcit`; did you mean `predict`?\n  see `stepsight --help`");
}

TEST_CASE("a slip in a flag is answered with the flag of that subcommand", "[cli]") {
  CHECK(told("predict --bacth 4") ==
        "unknown option `--bacth`; did you mean `--batch`?\n  see `stepsight predict --help`");
  CHECK(told("predict --jso=1") ==
        "unknown option `--jso`; did you mean `--json`?\n  see `stepsight predict --help`");
}

TEST_CASE("a stray word that resembles nothing is only named", "[cli]") {
  CHECK(told("predict zebra") == "unexpected argument `zebra`\n  see `stepsight predict --help`");
  CHECK(told("zebra") == "unknown command `zebra`\n  see `stepsight --help`");
}

TEST_CASE("a value of the wrong type keeps the parser's own words", "[cli]") {
  CHECK_THAT(told("predict --batch many"), match::ContainsSubstring("many"));
  CHECK_THAT(told("predict --batch many"), match::ContainsSubstring("--batch"));
}

TEST_CASE("a good command line is no error", "[cli]") {
  CHECK(told("predict --batch 4 --json") == "no error");
}
