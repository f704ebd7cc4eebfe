#include "calibrate/measure/rendezvous.h"

#include <cstdio>
#include <exception>
#include <fstream>
#include <thread>

#include <unistd.h>

#include "model/errors.h"
#include "tests/catch2.h"

namespace stepsight::calibrate {
namespace {

struct Seen {
  std::string id;
  std::vector<double> largest;
  std::string error;
};

// Ranks as threads of this process; they meet through a file, so any free port will do.
std::vector<Seen> meet(int world, const std::string& file, double patience_s, int present) {
  std::vector<Seen> seen(static_cast<std::size_t>(present));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < present; ++rank) {
    threads.emplace_back([&, rank] {
      Seen& mine = seen[static_cast<std::size_t>(rank)];
      try {
        Rendezvous meeting({.rank = rank, .world = world}, file, patience_s);
        mine.id = meeting.broadcast(rank == 0 ? "the id" : "not this");
        for (int round = 0; round < 50; ++round) {
          mine.largest = meeting.largest({static_cast<double>(rank), static_cast<double>(-rank)});
        }
      } catch (const UserError& error) {
        mine.error = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return seen;
}

std::string temporary_file(const char* name) {
  return "/tmp/stepsight_test_" + std::to_string(::getpid()) + "_" + name;
}

}  // namespace

TEST_CASE("eight ranks meet, hear rank 0 and agree on the largest values") {
  const std::string file = temporary_file("meet");
  for (const Seen& seen : meet(8, file, 20, 8)) {
    CHECK(seen.error.empty());
    CHECK(seen.id == "the id");
    CHECK(seen.largest == std::vector<double>{7, 0});
  }
  std::remove(file.c_str());
}

TEST_CASE("a file left by an earlier run does not keep the ranks apart") {
  const std::string file = temporary_file("stale");
  std::ofstream(file) << "127.0.0.1 1\n";
  for (const Seen& seen : meet(3, file, 20, 3)) CHECK(seen.error.empty());
  std::remove(file.c_str());
}

TEST_CASE("ranks that do not come are counted after the patience is spent") {
  const std::string file = temporary_file("missing");
  const std::vector<Seen> seen = meet(4, file, 0.5, 1);
  CHECK_THAT(seen[0].error, match::ContainsSubstring("3 of 4 ranks did not come"));
  std::remove(file.c_str());
}

TEST_CASE("a rank without an address says what to set") {
  const RankInfo lost{.rank = 1, .world = 2};
  CHECK_THROWS_WITH(Rendezvous(lost, "", 1), match::ContainsSubstring("MASTER_ADDR"));
}

TEST_CASE("a process alone meets nobody and agrees with itself") {
  Rendezvous alone({}, "", 0);
  CHECK(alone.broadcast("x") == "x");
  CHECK(alone.largest({3, 4}) == std::vector<double>{3, 4});
}

}  // namespace stepsight::calibrate
