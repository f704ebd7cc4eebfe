// What two step times alone say, without model, card and link: bounds.
#pragma once
#include "simulate/diagnose.h"

namespace stepsight {

// Speed-up over one GPU in work a second, and over N of that; 0 where one GPU was not measured.
void measure_speedup(const DiagnoseQuestion& question, Diagnosis& out);

// Figures that contradict each other: parts longer than the step, N GPUs faster than N times one.
// Empty when there are none. `faster_expected`: the prediction has such a speed-up, too.
std::vector<std::string> contradictions(const DiagnoseQuestion& question,
                                        const Diagnosis& measured,
                                        bool faster_expected);

// The verdict by the seed's rule and by what a link would have to be: all gradients exchanged in
// the time that the step grew by, against the slowest link that is still one (a slot of one lane
// without P2P; 1 Gb/s Ethernet between machines). Without a number of parameters a quarter of the
// card's memory is the most that gradients can take: weights, gradients and two states of an
// optimizer.
Diagnosis diagnose_bounds(const DiagnoseQuestion& question);

}  // namespace stepsight
