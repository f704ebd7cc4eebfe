// Whose kernels run fused attention. What they cost: model/attention_kernel.h.
#pragma once
#include <cstdint>

namespace stepsight {

// The library's that the profile was measured with, or a generation of FlashAttention.
enum class AttentionKernel : std::uint8_t { usual, flash1, flash2, flash3 };

}  // namespace stepsight
