// Gradient buckets as PyTorch's DDP makes them (torch/csrc/distributed/c10d/reducer.cpp,
// compute_bucket_assignment_by_size and rebuild_buckets): tensors in the order in which their
// gradients became ready; a bucket is closed once it has reached its limit, so the last tensor may
// carry it beyond; the first bucket has a small limit of its own so that communication starts
// early.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace stepsight {

struct BucketLimits {
  double first_bytes = 1024.0 * 1024.0;
  double bytes = 25 * 1024.0 * 1024.0;
};

// Among whom a gradient is reduced: all data-parallel ranks, those that hold the same experts, or
// nobody. Each group fills buckets of its own.
enum class GradientGroup : std::uint8_t { data, experts, none };

struct Bucket {
  std::uint32_t first_tensor = 0;  // in ready order
  std::uint32_t last_tensor =
      0;  // that closes it; between the two may lie tensors of another group
  std::uint32_t tensors = 0;
  double bytes = 0;
  GradientGroup group = GradientGroup::data;
};

// `tensor_bytes` in ready order; every tensor that is reduced lies in exactly one bucket. The
// buckets come in the order in which they are closed. `groups`: of each tensor; empty: all are
// GradientGroup::data.
std::vector<Bucket> gradient_buckets(std::span<const double> tensor_bytes,
                                     const BucketLimits& limits,
                                     std::span<const GradientGroup> groups = {});

}  // namespace stepsight
