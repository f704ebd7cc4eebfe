#include "model/nearest_samples.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/four.h"

namespace stepsight {

namespace {

using Sample = MeasuredSurface::Sample;
using Point = MeasuredSurface::Point;
using Axes = std::span<const std::size_t>;

// Ranges this short are looked through instead of split further.
constexpr std::size_t bucket = 6;

std::size_t widest(std::span<const Sample> range, Axes axes) {
  std::size_t best = axes.front();
  float most = -1;
  for (const std::size_t axis : axes) {
    const auto [low, high] =
        std::minmax_element(range.begin(), range.end(), [axis](const Sample& a, const Sample& b) {
          return a.at[axis] < b.at[axis];
        });
    const float width = high->at[axis] - low->at[axis];
    if (width > most) best = axis;
    most = std::max(most, width);
  }
  return best;
}

void arrange(std::span<Sample> range, std::span<unsigned char> split_axes, Axes axes) {
  if (range.size() <= bucket || axes.empty()) return;
  const std::size_t axis = widest(range, axes);
  const std::size_t middle = range.size() / 2;
  std::nth_element(range.begin(),
                   range.begin() + static_cast<std::ptrdiff_t>(middle),
                   range.end(),
                   [axis](const Sample& a, const Sample& b) { return a.at[axis] < b.at[axis]; });
  split_axes[middle] = static_cast<unsigned char>(axis);
  arrange(range.first(middle), split_axes.first(middle), axes);
  arrange(range.subspan(middle + 1), split_axes.subspan(middle + 1), axes);
}

// A sample is eight floats: seven coordinates, and a residual that is not looked at. Summed in the
// order of the axes.
float squared_distance(const Sample& a, const Sample& b) {
  static_assert(sizeof(Sample) == 2 * sizeof(Four));
  const Four low = four_at(a.at.data()) - four_at(b.at.data());
  const Four high = four_at(a.at.data() + 3) - four_at(b.at.data() + 3);
  const Four first = low * low;
  const Four last = high * high;
  return first[0] + first[1] + first[2] + first[3] + last[1] + last[2] + last[3];
}

template <std::size_t capacity>
struct Search {
  Sample query;  // its residual is 0
  NearestOf<capacity> nearest{};
  Point outside{};  // how far the range looked at lies from the query along each axis

  void offer(const Sample& sample) { nearest.offer({squared_distance(query, sample), &sample}); }

  // `least` is the squared length of `outside`: no point of the range is nearer.
  void in(std::span<const Sample> range, std::span<const unsigned char> split_axes, float least) {
    if (range.size() <= bucket) {
      for (const Sample& sample : range) offer(sample);
      return;
    }
    const std::size_t middle = range.size() / 2;
    offer(range[middle]);
    const std::size_t axis = split_axes[middle];
    const float side = query.at[axis] - range[middle].at[axis];
    const auto visit = [&](bool low, float distance) {
      if (low) {
        in(range.first(middle), split_axes.first(middle), distance);
      } else {
        in(range.subspan(middle + 1), split_axes.subspan(middle + 1), distance);
      }
    };
    visit(side < 0, least);
    const float before = outside[axis];
    const float farther = least - before * before + side * side;
    // A hair more than rounding, so that no point is missed.
    if (farther * 0.999F > nearest.worst()) return;
    outside[axis] = side;
    visit(!(side < 0), farther);
    outside[axis] = before;
  }
};

// Of what a neighbourhood keeps: the nearer ones come first.
Nearest nearest_of(std::span<const Sample* const> samples,
                   const Sample& query,
                   std::size_t wanted) {
  Nearest out;
  out.wanted = wanted;
  for (const Sample* sample : samples) out.offer({squared_distance(query, *sample), sample});
  return out;
}

float farthest(std::span<const Sample* const> samples, const Sample& query) {
  float most = 0;
  for (const Sample* sample : samples) most = std::max(most, squared_distance(query, *sample));
  return most;
}

// Are these also the nearest of all samples? Whatever is not in the neighbourhood lies at least its
// reach from the centre, and therefore at least as far from the query as that less the way to it. A
// hair less, for rounding.
bool is_whole(const SurfaceMemory::Neighbourhood& known,
              const Sample& query,
              const Nearest& nearest) {
  if (std::isinf(known.reach)) return true;  // there are no others
  const float way = std::sqrt(squared_distance({known.centre, 0}, query));
  const float out_of_sight = known.reach - way;
  return out_of_sight > 0 && nearest.worst() < 0.999F * out_of_sight * out_of_sight;
}

template <std::size_t capacity>
NearestOf<capacity> search(const SampleTree& tree,
                           const Sample& query,
                           std::size_t wanted,
                           float bound = std::numeric_limits<float>::infinity()) {
  Search<capacity> search{query};
  search.nearest.wanted = wanted;
  search.nearest.bound = bound;
  search.in(tree.samples, tree.split_axes, 0);
  return search.nearest;
}

}  // namespace

// Points equally far (designs are full of them) come in an order of their own: where they stand in
// the tree depends on how the standard library partitions.
bool is_nearer(const Neighbour& a, const Neighbour& b) {
  if (a.squared != b.squared) return a.squared < b.squared;
  if (b.sample == nullptr) return true;
  if (a.sample->at != b.sample->at) return a.sample->at < b.sample->at;
  return a.sample->log_residual < b.sample->log_residual;
}

std::vector<unsigned char> arrange_as_tree(std::span<Sample> samples, Axes axes) {
  std::vector<unsigned char> split_axes(samples.size());
  arrange(samples, split_axes, axes);
  return split_axes;
}

Nearest nearest_samples(const SampleTree& tree,
                        const Point& query,
                        std::size_t wanted,
                        SurfaceMemory::Neighbourhood* memory) {
  const Sample asked{query, 0};
  if (memory == nullptr) return search<most_neighbours>(tree, asked, wanted);
  constexpr std::size_t kept = SurfaceMemory::Neighbourhood::most_samples;
  float bound = std::numeric_limits<float>::infinity();
  if (memory->of == tree.samples.data()) {
    const std::span<const Sample* const> samples(memory->samples.data(), memory->count);
    const Nearest known = nearest_of(samples, asked, wanted);
    if (is_whole(*memory, asked, known)) return known;
    if (memory->count == kept) bound = farthest(samples, asked);
  }
  const auto found = search<kept>(tree, asked, kept, bound);
  memory->of = tree.samples.data();
  memory->centre = query;
  memory->count = 0;
  memory->factored.count = 0;
  for (const Neighbour& neighbour : found.best) {
    if (neighbour.sample != nullptr) memory->samples[memory->count++] = neighbour.sample;
  }
  memory->reach = std::sqrt(found.worst());  // infinite where there are fewer samples
  Nearest out;
  out.wanted = wanted;
  std::copy_n(found.best.begin(), wanted, out.best.begin());
  return out;
}

}  // namespace stepsight
