#include "model/nearest.h"

#include <array>
#include <string>
#include <vector>

#include "tests/catch2.h"

using namespace stepsight;

TEST_CASE("edit distance counts insertions, deletions, substitutions and swaps", "[nearest]") {
  CHECK(edit_distance("layers", "layers") == 0);
  CHECK(edit_distance("layer", "layers") == 1);
  CHECK(edit_distance("layerss", "layers") == 1);
  CHECK(edit_distance("kayers", "layers") == 1);
  CHECK(edit_distance("alyers", "layers") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("edit distance is the same in both directions", "[nearest]") {
  const std::array<std::string_view, 5> words{"batch", "btach", "seq", "", "bucket_cap_mb"};
  for (const auto a : words) {
    for (const auto b : words) CHECK(edit_distance(a, b) == edit_distance(b, a));
  }
}

TEST_CASE("case and kind of separator do not count as a difference", "[nearest]") {
  CHECK(edit_distance("Llama2_7B", "llama2-7b") == 0);
}

TEST_CASE("the nearest name is found, the first one on a tie", "[nearest]") {
  const std::array<std::string_view, 3> names{"heads", "kv_heads", "hidden"};
  CHECK(nearest("heds", names) == "heads");
  CHECK(nearest("kvheads", names) == "kv_heads");
  const std::array<std::string_view, 2> tie{"--aab", "--aac"};
  CHECK(nearest("--aaa", tie) == "--aab");
}

TEST_CASE("a word that resembles nothing gets no suggestion", "[nearest]") {
  const std::vector<std::string> names{"predict", "validate", "fit"};
  CHECK_FALSE(nearest("zebra", names));
  CHECK_FALSE(nearest("", names));
  CHECK_FALSE(nearest("x", std::vector<std::string>{"y"}));
  CHECK_FALSE(nearest("x", std::vector<std::string>{}));
}

TEST_CASE("a hostile name of megabytes is answered at once", "[nearest]") {
  const std::vector<std::string> names{std::string(3'000'000, 'b')};
  CHECK_FALSE(nearest(std::string(3'000'000, 'a'), names));
}

TEST_CASE("nearest names come best first and no more than asked for", "[nearest]") {
  const std::array<std::string_view, 4> names{"a100-sxm", "h200-sxm", "h100-pcie", "h100-sxm"};
  const auto best = nearest_names("h100-smx", names, 2);
  REQUIRE(best.size() == 2);
  CHECK(best[0] == "h100-sxm");
  CHECK(nearest_names("h100", names, 9).size() == 4);
}
