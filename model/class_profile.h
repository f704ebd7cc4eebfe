// A profile for a card that nobody measured: the measured card's utilisation of its vendor's figures,
// applied to this card's. Every parameter is a class value and says so; its spread is wide.
#pragma once
#include "model/profile.h"

namespace stepsight {

// Relative standard deviation of a class value.
inline constexpr double class_value_spread = 0.3;

// `figures` brings the vendor's figures (model/io/profile_file.h, read_gpu), `reference` a measured
// profile. Rates of products and attention go with the vendor's dense rates, memory-bound passes with
// the memory's bandwidth and, where they are bound by instructions, with the fp32 rate; what a start
// costs stays. A format that the card does not offer runs at its fp32 rate. No measured points and no
// collectives are taken over.
GpuProfile class_profile(const GpuProfile& figures, const GpuProfile& reference);

}  // namespace stepsight
