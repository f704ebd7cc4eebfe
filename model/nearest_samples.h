// The points of a measured surface that lie nearest to a query: a k-d tree, and a memory of earlier
// queries by which one close to them is answered without it.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "model/measured_surface.h"

namespace stepsight {

inline constexpr std::size_t most_neighbours = 16;

struct Neighbour {
  float squared = std::numeric_limits<float>::infinity();  // distance
  const MeasuredSurface::Sample* sample = nullptr;
};

// Points equally far (designs are full of them) come in an order of their own: where they stand in
// the tree depends on how the standard library partitions.
bool is_nearer(const Neighbour& a, const Neighbour& b);

// The `wanted` nearest points found so far, nearest first. None is farther than `bound` where it is
// known that so many are as near.
template <std::size_t capacity>
struct NearestOf {
  std::size_t wanted = capacity;
  float bound = std::numeric_limits<float>::infinity();  // squared
  std::array<Neighbour, capacity> best{};

  [[nodiscard]] float worst() const { return std::min(bound, best[wanted - 1].squared); }
  void offer(Neighbour candidate) {
    if (candidate.squared > worst() || !is_nearer(candidate, best[wanted - 1])) return;
    std::size_t i = wanted - 1;
    for (; i > 0 && is_nearer(candidate, best[i - 1]); --i) best[i] = best[i - 1];
    best[i] = candidate;
  }
};
using Nearest = NearestOf<most_neighbours>;

// A k-d tree stored in place: the median of each range splits it along the axis in which the range
// is widest, which stands at the median's index in the result. `axes` are those in which any two
// points differ.
std::vector<unsigned char> arrange_as_tree(std::span<MeasuredSurface::Sample> samples,
                                           std::span<const std::size_t> axes);

struct SampleTree {
  std::span<const MeasuredSurface::Sample> samples;
  std::span<const unsigned char> split_axes;
};

// The `wanted` samples nearest to the query, at most most_neighbours. With a memory: the same ones.
Nearest nearest_samples(const SampleTree& tree,
                        const MeasuredSurface::Point& query,
                        std::size_t wanted,
                        SurfaceMemory::Neighbourhood* memory = nullptr);

}  // namespace stepsight
