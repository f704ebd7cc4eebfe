#include "calibrate/measure/options.h"

#include <array>
#include <vector>

#include "calibrate/measure/sizes.h"
#include "model/errors.h"
#include "tests/catch2.h"

namespace stepsight::calibrate {
namespace {

constexpr std::array<ExtraFlag, 2> extras{{{"--ops", "LIST", "which"}, {"--fast", "", "hurry"}}};
constexpr Tool tool{.name = "calibrate_test",
                    .summary = "tests",
                    .example = "calibrate_test -o x.json",
                    .quick_budget_s = 20,
                    .full_budget_s = 120,
                    .extras = extras};

Options parse(const std::vector<const char*>& arguments) {
  return parse_options(tool, arguments);
}

}  // namespace

TEST_CASE("without flags a run is quick, on GPU 0, to standard output") {
  const Options o = parse({});
  CHECK_FALSE(o.full);
  CHECK_FALSE(o.list);
  CHECK(o.device == 0);
  CHECK(o.output.empty());
  CHECK(o.budget_s == 20);
}

TEST_CASE("flags set what they say, with the value beside or behind an equals sign") {
  const Options o = parse({"--full", "-o", "dir/x.json", "--device=2", "--resume", "--ops", "a,b"});
  CHECK(o.full);
  CHECK(o.output == "dir/x.json");
  CHECK(o.device == 2);
  CHECK(o.resume);
  CHECK(o.budget_s == 120);
  CHECK(extra(o, "--ops", "all") == "a,b");
  CHECK(extra(o, "--fast", "no") == "no");
  CHECK(extra(parse({"--fast"}), "--fast", "no") == "yes");
  CHECK(parse({"--budget", "7.5"}).budget_s == 7.5);
}

TEST_CASE("the command that is written down names no folders") {
  CHECK(parse({"-o", "/home/somebody/x.json", "--full"}).command ==
        "calibrate_test -o x.json --full");
}

TEST_CASE("wrong flags are named") {
  CHECK_THROWS_WITH(parse({"--ful"}), match::ContainsSubstring("'--ful'"));
  CHECK_THROWS_WITH(parse({"-o"}), match::ContainsSubstring("-o needs a value"));
  CHECK_THROWS_WITH(parse({"--device", "two"}), match::ContainsSubstring("--device"));
  CHECK_THROWS_WITH(parse({"--device", "-1"}), match::ContainsSubstring("--device"));
  CHECK_THROWS_WITH(parse({"--budget", "nan"}), match::ContainsSubstring("--budget"));
  CHECK_THROWS_WITH(parse({"--resume"}), match::ContainsSubstring("-o FILE"));
  CHECK_THROWS_WITH(parse({"--fast=1"}), match::ContainsSubstring("no value"));
  CHECK_THROWS_AS(parse({"--full=1"}), UserError);
  CHECK_THROWS_AS(parse({"x"}), UserError);
}

TEST_CASE("the help shows every flag and an example") {
  const std::string help = help_text(tool);
  for (const char* part : {"-o FILE",
                           "--quick",
                           "--full",
                           "--budget",
                           "--resume",
                           "--list",
                           "--device",
                           "--ops LIST",
                           "--fast",
                           "calibrate_test -o x.json"}) {
    CHECK_THAT(help, match::ContainsSubstring(part));
  }
}

TEST_CASE("sizes are read with their units and refused outside their range") {
  CHECK(parse_size("512", "--x") == 512);
  CHECK(parse_size("64K", "--x") == 65536);
  CHECK(parse_size("8GiB", "--x") == 8LL << 30);
  CHECK(parse_size("2MB", "--x") == 2LL << 20);
  CHECK(parse_size("1T", "--x") == 1LL << 40);
  for (const char* wrong :
       {"", "0", "-1", "K", "1.5G", "2T", "9223372036854775807G", "1 K", "8X"}) {
    INFO(wrong);
    CHECK_THROWS_WITH(parse_size(wrong, "--x"), match::ContainsSubstring("--x"));
  }
}

TEST_CASE("a ladder of sizes meets its last step when a power of the factor reaches it") {
  CHECK(size_ladder(1, 8, 2) == std::vector<std::int64_t>{1, 2, 4, 8});
  CHECK(size_ladder(1024, 100000, 4) == std::vector<std::int64_t>{1024, 4096, 16384, 65536});
  CHECK(size_ladder(8, 4, 2).empty());
  CHECK_THROWS_AS(size_ladder(0, 8, 2), std::logic_error);
  CHECK_THROWS_AS(size_ladder(1, 8, 1), std::logic_error);
}

TEST_CASE("sizes are written in the largest unit that divides them") {
  CHECK(format_size(65536) == "64 KiB");
  CHECK(format_size(8LL << 30) == "8 GiB");
  CHECK(format_size(1000) == "1000 B");
}

TEST_CASE("copies that take turns exceed four times the L2 where the limit allows") {
  constexpr std::int64_t l2 = 60LL << 20;
  for (const std::int64_t set : {1LL << 10, 3LL << 20, 100LL << 20, 1LL << 30}) {
    const std::int64_t copies = rotation_copies(set, l2, 1 << 20);
    CHECK(copies * set > 4 * l2);
    CHECK((copies - 1) * set <= 4 * l2);
  }
  CHECK(rotation_copies(1024, l2, 512) == 512);
  CHECK(rotation_copies(1024, l2, 0) == 1);
  CHECK_THROWS_AS(rotation_copies(0, l2, 1), std::logic_error);
}

}  // namespace stepsight::calibrate
