// The time of attention with the kernels of a given generation of FlashAttention, for stacks that
// do not run what the profile was measured with.
#pragma once
#include "model/operators.h"
#include "model/units.h"

namespace stepsight {

struct GpuProfile;

// The share of the card's dense 16-bit rate that a generation's kernels reach in long sequences,
// forward or backward. `wide`: a card whose full rate only asynchronous products reach (Hopper and
// later).
//   flash1  0.40, 0.30  the middle of 30 to 50 % and 25 to 35 % of an A100 (Dao 2023,
//   FlashAttention-2,
//                       section 1); wide: half of the second generation's (there, abstract)
//   flash2  0.61, 0.53  the middle of 50 to 73 % forward, and as far below the 63 % that backward
//                       reaches at most (there, section 1); wide: 0.35 of an H100 (Shah et al.
//                       2024, FlashAttention-3, abstract), backward in the same proportion
//   flash3  0.63, 0.49  as far below the 75 % that forward reaches at most; backward 1.5 to 1.75
//   times
//                       the second generation's (Shah et al. 2024, abstract and section 4.1)
double attention_utilisation(AttentionKernel kernel, bool backward, bool wide);

// FLOP over that rate; start, short sequences and dropout as in the profile's own attention. For
// `usual` there is nothing to say: std::logic_error.
Seconds generation_time(const Attention& attention, const GpuProfile& gpu);

}  // namespace stepsight
