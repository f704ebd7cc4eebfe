// A profile for a card that nobody measured: the measured card's utilisation of its vendor's
// figures, applied to this card's. Every parameter is a class value and says so; its spread is
// wide.
#pragma once
#include "model/profile.h"

namespace stepsight {

// Relative standard deviation of a class value. Class profiles from the H200 against the tables of
// eight cards that were measured (calibrate/measurements/imported/gemm): large 16-bit products are
// off by a factor whose logarithm spreads by 0.16 between cards (from 0.23 too slow on GeForce to
// 0.23 too fast on the L40S), and by 0.1 more within a table. Cards under 100 W (L4, T4) miss fp32
// by half and more, because their power allows no more; they have profiles of their own.
inline constexpr double class_value_spread = 0.2;

// `figures` brings the vendor's figures (model/io/profile_file.h, read_gpu), `reference` a measured
// profile. Rates of products and attention go with the vendor's dense rates, memory-bound passes
// with the memory's bandwidth and, where they are bound by instructions, with multiprocessors times
// clock; what a start costs stays. A format that the card does not offer runs at its fp32 rate. No
// measured points and no collectives are taken over. `figures.like` says which measured card to
// take as the reference, where one is nearer than the H200: one of the same generation and kind
// (read_profile sees to it).
GpuProfile class_profile(const GpuProfile& figures, const GpuProfile& reference);

}  // namespace stepsight
