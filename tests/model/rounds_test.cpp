#include "model/rounds.h"

#include "tests/catch2.h"

using namespace stepsight;

TEST_CASE("a product's rounds are its tiles over the multiprocessors") {
  CHECK(rounds_of(Gemm{4096, 4096, 1024}, 132) == Approx(32 * 16 / 132.0));
  CHECK(rounds_of(Gemm{4097, 4096, 1024}, 132) == Approx(33 * 16 / 132.0));
  CHECK(rounds_of(Pass{PassKind::copy, 1, 1 << 20}, 132) == 0);
}

TEST_CASE("a collective delays every product by the same rounds, at most by its own") {
  // Two rounds late: what an H200 was measured at.
  constexpr double of_usual = 0.8;
  CHECK(rate_beside_collective(usual_rounds, of_usual) == Approx(0.8));
  CHECK(rate_beside_collective(1, of_usual) == Approx(0.5));
  CHECK(rate_beside_collective(3, of_usual) == Approx(0.6));
  CHECK(rate_beside_collective(16, of_usual) == Approx(16.0 / 18));
  for (double rounds = 0.5; rounds < 100; rounds *= 1.3) {
    CHECK(rate_beside_collective(rounds, 1) == 1);
    CHECK(rate_beside_collective(rounds, of_usual) <=
          rate_beside_collective(rounds * 1.3, of_usual));
  }
}
