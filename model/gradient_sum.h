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

// The time of such a product, of one that takes `alone` where it writes its result: gemm_formula's
// two parts, arithmetic and memory, put together again with the sum's bytes. With few tokens for
// each weight (experts, small micro-batches) the memory bounds it, with many nothing is seen of the
// sum but by the power limit.
Cost cost_with_sum(const Cost& alone, const Gemm& gemm, double sum_bytes, const GpuProfile& gpu);

}  // namespace stepsight
