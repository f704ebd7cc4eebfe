// How long a step takes when ranks are unequal, data comes late and training pauses.
#pragma once
#include "model/profile.h"
#include "model/scenario.h"
#include "model/units.h"

namespace stepsight {

// Expected compute time of the slowest of `ranks` over that of an undisturbed one: all wait for it.
// One rank is slow_factor x batch_imbalance as long as the others; each varies from step to step,
// normally distributed about its own mean, independently. 1 for one rank. E[max] = a + integral
// from a of 1 - F(x), where F is the product of the ranks' distributions.
double slowest_of(const Irregular& irregular, std::int64_t ranks);

// How much longer `other` computes one GPU's share of the scenario than `card` does; 1 where it is
// faster, because then it waits. What the scenario says of its ranks is left out.
double card_slowdown(const Scenario& scenario, const GpuProfile& card, const GpuProfile& other);

// Seconds that the loader needs for one GPU's samples of a step; 0 without a limit. Workers in
// parallel, at most the GPU's share of what its machine delivers.
Seconds loading_time(const Scenario& scenario);

// Seconds of pauses that fall on one step in the mean.
Seconds stall_time(const Scenario& scenario);

struct Prediction;

// What unequal ranks, late data and pauses add to `out`, the prediction of a step of equal ranks
// that never wait; `among_unequal` is the same step where the ranks are as the scenario says.
void disturb(const Scenario& scenario, Seconds among_unequal, Prediction& out);

// A simulated step, in training: as long as its data needs at least, and with its share of pauses.
Seconds with_waits(const Scenario& scenario, Seconds step);

}  // namespace stepsight
