// What an operator of a trace computes, from the sizes, strides, types and arguments that the
// profiler recorded with it (record_shapes=True).
#pragma once
#include <optional>
#include <string_view>

#include "model/io/trace_json.h"
#include "model/operators.h"

namespace stepsight {

// "c10::BFloat16", "float", ...; empty for integers and what the model has no rate for.
std::optional<Dtype> traced_dtype(std::string_view name);

// Matrix products (mm, addmm, bmm, baddbmm) with their layout, attention (cuDNN's, flash, memory-
// efficient), and convolutions as the product that they are once the input is unfolded: m = batch
// times output positions, n = output channels of a group, k = input channels of a group times the
// kernel's size, one product a group; and the memory-bound passes that the model knows (norms,
// softmax, activations, casts, copies, sums over rows). A fused update, whose lists of tensors
// carry no sizes, is a pass of no rows (TraceOperator). Empty for anything else, and where a size
// was not recorded, is not positive or above 2^40.
std::optional<Work> traced_work(const TraceEvent& event);

}  // namespace stepsight
