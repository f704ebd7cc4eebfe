#include "model/max_min.h"

#include <numeric>

#include "tests/catch2.h"

namespace stepsight {
namespace {

// Shares of flows that are all active; paths[f] are link numbers.
std::vector<double> shares(const std::vector<double>& capacity,
                           const std::vector<std::vector<std::uint32_t>>& paths,
                           const std::vector<double>& limit) {
  std::vector<std::uint32_t> begin{0};
  std::vector<LinkId> links;
  for (const auto& path : paths) {
    for (const std::uint32_t link : path) links.push_back(LinkId{link});
    begin.push_back(static_cast<std::uint32_t>(links.size()));
  }
  std::vector<std::uint32_t> active(paths.size());
  std::iota(active.begin(), active.end(), 0U);
  std::vector<double> share(paths.size());
  MaxMinScratch scratch;
  max_min_fair({begin, links}, capacity, active, limit, share, scratch);
  return share;
}

constexpr double no_limit = 1e9;

}  // namespace

TEST_CASE("Flows that all want more share a link equally") {
  // 90 / 3.
  CHECK(shares({90}, {{0}, {0}, {0}}, {no_limit, no_limit, no_limit}) ==
        std::vector<double>{30, 30, 30});
}

TEST_CASE("What a modest flow leaves is shared by the others") {
  // 10 is under the fair 30, so it is granted; (90 - 10) / 2 = 40 for the rest.
  CHECK(shares({90}, {{0}, {0}, {0}}, {no_limit, 10, no_limit}) == std::vector<double>{40, 10, 40});
}

TEST_CASE("A flow gets no more than it asks for") {
  CHECK(shares({90}, {{0}}, {20}) == std::vector<double>{20});
  CHECK(shares({}, {{}}, {20}) == std::vector<double>{20});
}

TEST_CASE("A long flow over two links is held by the tighter and frees the other") {
  // The parking lot: flow 0 crosses links 0 and 1, flow 1 link 0, flow 2 link 1. Link 0 fills
  // first, at 10 / 2 = 5 each; on link 1 flow 2 rises on to 100 - 5 = 95.
  CHECK(shares({10, 100}, {{0, 1}, {0}, {1}}, {no_limit, no_limit, no_limit}) ==
        std::vector<double>{5, 5, 95});
}

TEST_CASE("Links fill one after another and each holds its own flows") {
  // Links 12, 20, 40. Level 4: link 0 is full (flows 0, 1, 2). Link 1 carries flows 2 and 3:
  // 20 - 4 = 16 for flow 3. Link 2 carries flows 1, 3, 4: 40 - 4 - 16 = 20 for flow 4.
  CHECK(shares({12, 20, 40},
               {{0}, {0, 2}, {0, 1}, {1, 2}, {2}},
               std::vector<double>(5, no_limit)) == std::vector<double>{4, 4, 4, 16, 20});
}

TEST_CASE("A flow that crosses a link twice pays for it twice") {
  // Flow 0 takes two of the three crossings: 30 / 3 = 10 each.
  CHECK(shares({30}, {{0, 0}, {0}}, {no_limit, no_limit}) == std::vector<double>{10, 10});
}

TEST_CASE("A set of flows after another set finds no trace of it") {
  const std::vector<std::uint32_t> begin{0, 1, 2};
  const std::vector<LinkId> links{LinkId{0}, LinkId{0}};
  const std::vector<double> capacity{10};
  const std::vector<double> limit{no_limit, no_limit};
  std::vector<double> share(2);
  MaxMinScratch scratch;
  const std::vector<std::uint32_t> both{0, 1};
  max_min_fair({begin, links}, capacity, both, limit, share, scratch);
  CHECK(share == std::vector<double>{5, 5});
  const std::vector<std::uint32_t> second{1};
  max_min_fair({begin, links}, capacity, second, limit, share, scratch);
  CHECK(share[0] == 10);
}

}  // namespace stepsight
