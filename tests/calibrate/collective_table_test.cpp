#include "calibrate/measure/collective_table.h"

#include <cmath>
#include <vector>

#include "model/errors.h"
#include "tests/catch2.h"

namespace stepsight::calibrate {
namespace {

using Matrix = std::vector<std::vector<float>>;  // one row a rank

Matrix send_buffers(const CollectiveRow& row, int n, std::int64_t elements) {
  Matrix buffers;
  for (int r = 0; r < n; ++r) {
    std::vector<float> mine;
    for (std::int64_t i = 0; i < buffer_elements(row.send, elements, n); ++i) {
      mine.push_back(send_value(r, i));
    }
    buffers.push_back(mine);
  }
  return buffers;
}

std::vector<float> sums(const Matrix& send) {
  std::vector<float> total(send.front().size(), 0);
  for (const auto& mine : send) {
    for (std::size_t i = 0; i < mine.size(); ++i) total[i] += mine[i];
  }
  return total;
}

// What each collective means, done with plain copies: the independent derivation.
Matrix run_on_cpu(CollectiveKind kind, const Matrix& send) {
  const std::size_t n = send.size();
  Matrix receive(n);
  for (std::size_t r = 0; r < n; ++r) {
    switch (kind) {
      case CollectiveKind::all_reduce:
        receive[r] = sums(send);
        break;
      case CollectiveKind::all_gather:
        for (const auto& mine : send) {
          receive[r].insert(receive[r].end(), mine.begin(), mine.end());
        }
        break;
      case CollectiveKind::reduce_scatter: {
        const std::vector<float> total = sums(send);
        const auto block = static_cast<std::ptrdiff_t>(total.size() / n);
        const auto first = total.begin() + block * static_cast<std::ptrdiff_t>(r);
        receive[r].assign(first, first + block);
        break;
      }
      case CollectiveKind::broadcast:
        receive[r] = send[0];
        break;
      case CollectiveKind::all_to_all:
        for (const auto& mine : send) {
          const auto block = static_cast<std::ptrdiff_t>(mine.size() / n);
          const auto first = mine.begin() + block * static_cast<std::ptrdiff_t>(r);
          receive[r].insert(receive[r].end(), first, first + block);
        }
        break;
      case CollectiveKind::send_recv:
        receive[r] = send[r == 0 ? n - 1 : r - 1];
        break;
    }
  }
  return receive;
}

}  // namespace

TEST_CASE("the value to be found after each collective is what a run on the CPU leaves there") {
  for (const CollectiveRow& row : collective_table) {
    for (const int n : {1, 2, 3, 4, 8}) {
      const std::int64_t elements = message_elements(1000, n);
      const Matrix received = run_on_cpu(row.kind, send_buffers(row, n, elements));
      INFO(row.name << " on " << n);
      for (int r = 0; r < n; ++r) {
        const auto& mine = received[static_cast<std::size_t>(r)];
        REQUIRE(static_cast<std::int64_t>(mine.size()) ==
                buffer_elements(row.receive, elements, n));
        for (std::size_t i = 0; i < mine.size(); ++i) {
          REQUIRE(mine[i] ==
                  expected_value(row.kind, r, n, elements, static_cast<std::int64_t>(i)));
        }
      }
    }
  }
}

TEST_CASE("ranks that were mixed up would be noticed") {
  // Neighbouring ranks hold different values everywhere.
  for (std::int64_t i = 0; i < 64; ++i) {
    for (int r = 0; r < 15; ++r) CHECK(send_value(r, i) != send_value(r + 1, i));
  }
}

TEST_CASE("sums over 1024 ranks are whole numbers that fp32 holds exactly") {
  const float sum = expected_value(CollectiveKind::all_reduce, 0, 1024, 1024, 5);
  CHECK(sum == std::floor(sum));
  CHECK(sum <= 15.0F * 1024);
}

TEST_CASE("the table stands in the order of its enumeration") {
  for (std::size_t i = 0; i < collective_table.size(); ++i) {
    CHECK(static_cast<std::size_t>(collective_table[i].kind) == i);
    CHECK(info(collective_table[i].kind).name == collective_table[i].name);
  }
}

TEST_CASE("busbw factors are those of nccl-tests") {
  // doc/PERFORMANCE.md there: all-reduce 2(n-1)/n; all-gather, reduce-scatter, all-to-all (n-1)/n;
  // broadcast and send/receive 1.
  const auto factor = [](CollectiveKind kind, int n) { return bus_factor(info(kind).factor, n); };
  CHECK(factor(CollectiveKind::all_reduce, 8) == 1.75);
  CHECK(factor(CollectiveKind::all_reduce, 2) == 1);
  CHECK(factor(CollectiveKind::all_reduce, 1) == 0);
  CHECK(factor(CollectiveKind::all_gather, 8) == 0.875);
  CHECK(factor(CollectiveKind::reduce_scatter, 4) == 0.75);
  CHECK(factor(CollectiveKind::all_to_all, 2) == 0.5);
  CHECK(factor(CollectiveKind::broadcast, 8) == 1);
  CHECK(factor(CollectiveKind::send_recv, 8) == 1);
}

TEST_CASE("messages divide among the ranks and are never empty") {
  CHECK(message_elements(1024, 8) == 256);
  CHECK(message_elements(1024, 3) == 255);
  CHECK(message_elements(4, 8) == 8);
  CHECK(message_elements(8LL << 30, 6) % 6 == 0);
}

TEST_CASE("subsets are neighbours of 2, 4, 8, one far pair, and the whole machine") {
  using Subsets = std::vector<std::vector<int>>;
  CHECK(gpu_subsets(1) == Subsets{{0}});
  CHECK(gpu_subsets(2) == Subsets{{0, 1}});
  CHECK(gpu_subsets(3) == Subsets{{0, 1}, {0, 1, 2}});
  CHECK(gpu_subsets(4) == Subsets{{0, 1}, {0, 2}, {0, 1, 2, 3}});
  CHECK(gpu_subsets(6) == Subsets{{0, 1}, {0, 3}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5}});
  CHECK(gpu_subsets(8) == Subsets{{0, 1}, {0, 4}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7}});
  CHECK(gpu_subsets(16).size() == 5);
}

TEST_CASE("a list of collectives is read, and an unknown one is named") {
  CHECK(parse_collectives("all").size() == collective_table.size());
  CHECK(parse_collectives("alltoall,all_reduce") ==
        std::vector<CollectiveKind>{CollectiveKind::all_to_all, CollectiveKind::all_reduce});
  CHECK_THROWS_WITH(parse_collectives("all_reduce,scatter"), match::ContainsSubstring("'scatter'"));
  CHECK_THROWS_AS(parse_collectives(""), UserError);
  CHECK_THROWS_AS(parse_collectives("all_reduce,"), UserError);
}

TEST_CASE("members are joined by commas") {
  CHECK(join({0, 4, 12}) == "0,4,12");
  CHECK(join({}).empty());
}

}  // namespace stepsight::calibrate
