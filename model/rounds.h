// Rounds of tiles: how often the multiprocessors are filled by a kernel that instructions bound,
// and what that makes of its rate beside a collective.
#pragma once
#include <algorithm>

#include "model/operators.h"

namespace stepsight {

inline constexpr double usual_rounds =
    8;  // those that OverlapParameters::compute_under_collective is for

// Tiles of 128 x 256 over the multiprocessors, or blocks of 128 queries; 0 for what is not cut so.
double rounds_of(const Work& work, int multiprocessors);

// A collective's channels occupy multiprocessors for as long as it runs. Tiles that were meant for
// them begin when others end, so that a kernel of W rounds takes min(W, late) rounds more. On an
// H200 `late` is 2 for all from 0.5 to 16 rounds (calibrate/measurements/h200-x2-overlap.json):
// 0.50 of the rate up to two rounds, 0.61 at three, 0.75 at six, 0.85 at sixteen. `of_usual`, in
// (0, 1], is the rate at usual_rounds.
constexpr double rate_beside_collective(double rounds, double of_usual) {
  const double late = usual_rounds * (1 / of_usual - 1);
  return rounds / (rounds + std::min(rounds, late));
}

}  // namespace stepsight
