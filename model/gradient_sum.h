// Products that form a weight's gradient and add it to the sum of the micro-steps before
// (Megatron-LM's gradient accumulation fusion).
#pragma once
#include "model/cost.h"
#include "model/operators.h"

namespace stepsight {

struct GpuProfile;

// What more the memory carries than for a product that only writes its result: the sum, of
// `sum_bytes` an element, is read and written in its place.
double sum_traffic(const Gemm& gemm, double sum_bytes);

// The time of such a product, of one that takes `alone` where it writes its result. A tile meets
// the sum at its end, when nothing is left to hide the traffic behind: on a B200 sums of 4 bytes
// instead of 2 add 0.8 to 1.1 times what those bytes take at the memory's rate (the middle half of
// ten products; SimuMax, configs/system/b200_bf16_ceperm.json).
Cost cost_with_sum(const Cost& alone, const Gemm& gemm, double sum_bytes, const GpuProfile& gpu);

}  // namespace stepsight
