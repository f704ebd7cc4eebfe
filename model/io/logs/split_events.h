// What a profiler recorded of one rank, as far as the split of a step needs it: kernels, and the
// stretches that mark steps, in any order and from any file.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "model/trace_split.h"

namespace stepsight {

struct SplitEvent {
  enum class Kind { kernel, host_step, gpu_step };
  Kind kind = Kind::kernel;
  std::string_view name;
  double start = 0;  // us
  double end = 0;    // at least start
  std::int64_t device = 0;
};

// Hands out every event of a file, from its beginning.
using EachSplitEvent = std::function<void(const std::function<void(const SplitEvent&)>& take)>;

// Of one step; further ones are counted as left out.
inline constexpr std::size_t most_split_kernels = 1'000'000;

// NCCL's kernels and their like.
bool is_collective_kernel(std::string_view name);

// The split of the steady step: the one of median length, without the first where there are three
// or more; by the GPU's own marks where there are some, because the host runs ahead; of the whole
// file where nothing marks steps. `each` is run twice, so that nothing but one step's kernels is
// held. UserError where there is no kernel: `file` and what to record.
StepSplit split_events(const std::string& file,
                       const EachSplitEvent& each,
                       const std::string& record);

}  // namespace stepsight
