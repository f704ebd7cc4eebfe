#include "simulate/ordered_workers.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/catch2.h"

namespace stepsight {
namespace {

// Later items are done sooner, so that threads finish out of order.
OrderedWork numbers(unsigned threads, std::string& out) {
  OrderedWork work;
  work.begin = 3;
  work.end = 103;
  work.chunk = 7;
  work.threads = threads;
  work.make_worker = []() -> ItemsToText {
    return [](std::uint64_t begin, std::uint64_t end) {
      std::this_thread::sleep_for(std::chrono::microseconds(end % 3 == 0 ? 900 : 10));
      std::string text;
      for (std::uint64_t i = begin; i < end; ++i) text += std::to_string(i) + "\n";
      return text;
    };
  };
  work.take = [&out](const std::string& text, std::uint64_t) { out += text; };
  return work;
}

TEST_CASE("results come in order whatever the number of threads") {
  std::string expected;
  for (int i = 3; i < 103; ++i) expected += std::to_string(i) + "\n";
  for (const unsigned threads : {1U, 2U, 5U, 40U}) {
    std::string out;
    run_in_order(numbers(threads, out));
    CHECK(out == expected);
  }
}

TEST_CASE("a failure comes after the results before it, and ends the work") {
  std::string out;
  OrderedWork work = numbers(3, out);
  work.make_worker = []() -> ItemsToText {
    return [](std::uint64_t begin, std::uint64_t) -> std::string {
      if (begin >= 38) throw std::runtime_error("broken at " + std::to_string(begin));
      return std::to_string(begin) + "\n";
    };
  };
  CHECK_THROWS_WITH(run_in_order(work), "broken at 38");
  CHECK(out == "3\n10\n17\n24\n31\n");
}

TEST_CASE("no more results wait than the window holds") {
  std::string out;
  OrderedWork work = numbers(2, out);
  work.end = 7003;
  std::atomic<std::uint64_t> begun = 0;
  std::uint64_t most_ahead = 0;
  work.make_worker = [&]() -> ItemsToText {
    return [&](std::uint64_t begin, std::uint64_t) {
      std::uint64_t seen = begun.load();
      while (begin > seen && !begun.compare_exchange_weak(seen, begin)) {
      }
      return std::string("x");
    };
  };
  work.take = [&](const std::string&, std::uint64_t done) {
    const std::uint64_t farthest = begun.load();
    if (farthest > done) most_ahead = std::max(most_ahead, farthest - done);
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  };
  run_in_order(work);
  CHECK(most_ahead <= 4 * 2 * work.chunk + work.chunk);
}

}  // namespace
}  // namespace stepsight
