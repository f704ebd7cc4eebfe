#include "calibrate/measure/gemm_design.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "calibrate/measure/gemm_candidates.h"

namespace stepsight::calibrate {
namespace {

// One point may take about 30 ms on a card of the H200's class, and 24 GB of memory. A misaligned
// one is up to eight times slower for the same work.
bool affordable(const GemmShape& shape) {
  constexpr std::array<double, 5> largest_flops{1.4e12, 1.0e13, 2.2e13, 2.2e13, 3.0e13};
  const bool misaligned = shape.m % 8 != 0 || shape.n % 8 != 0 || shape.k % 8 != 0;
  const double limit = largest_flops[static_cast<std::size_t>(shape.dtype)];
  const double bytes = static_cast<double>(left_bytes(shape)) +
                       static_cast<double>(right_bytes(shape)) +
                       static_cast<double>(output_bytes(shape));
  return flops(shape) <= (misaligned ? limit / 5 : limit) && bytes <= 24e9;
}

// fp8 on today's cards: only tn, and every dimension a multiple of 16.
bool supported(const GemmShape& shape) {
  if (shape.dtype != Dtype::fp8) return true;
  return shape.layout == GemmLayout::tn && shape.m % 16 == 0 && shape.n % 16 == 0 &&
         shape.k % 16 == 0;
}

// Fisher-Yates with a 64-bit linear congruential generator (Knuth's MMIX constants), because
// std::shuffle may differ between standard libraries and the design must not.
void shuffle(GemmShapes& shapes, std::uint64_t seed) {
  std::uint64_t state = seed;
  for (std::size_t i = shapes.size(); i > 1; --i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(shapes[i - 1], shapes[(state >> 33U) % i]);
  }
}

struct Stratum {
  GemmShapes (*candidates)();
  Dtype dtype;
  std::size_t quick;  // how many of them a quick run measures; a full one four times that
};

// bf16 is what most training runs in. Every kind has enough shapes that leaving out a fifth of them
// leaves neighbours for the rest: misaligned ones count four parts of ten, because each of three
// layouts has two dimensions along memory, each of which may be misaligned in three ways, and the
// library has other kernels for them. The other formats share the formula's form and need fewer
// points to pin its parameters.
constexpr std::array<Stratum, 29> strata{{
    {transformer_shapes, Dtype::bf16, 68},
    {head_shapes, Dtype::bf16, 14},
    {misaligned_head_shapes, Dtype::bf16, 20},
    {odd_shapes, Dtype::bf16, 34},
    {even_misaligned_shapes, Dtype::bf16, 26},
    {few_token_shapes, Dtype::bf16, 28},
    {narrow_layer_shapes, Dtype::bf16, 24},
    {square_shapes, Dtype::bf16, 10},
    {huge_shapes, Dtype::bf16, 5},
    {scattered_shapes, Dtype::bf16, 16},
    {transformer_shapes, Dtype::fp16, 10},
    {odd_shapes, Dtype::fp16, 6},
    {even_misaligned_shapes, Dtype::fp16, 4},
    {square_shapes, Dtype::fp16, 3},
    {scattered_shapes, Dtype::fp16, 4},
    {transformer_shapes, Dtype::tf32, 10},
    {odd_shapes, Dtype::tf32, 6},
    {even_misaligned_shapes, Dtype::tf32, 4},
    {square_shapes, Dtype::tf32, 3},
    {scattered_shapes, Dtype::tf32, 4},
    {transformer_shapes, Dtype::fp32, 10},
    {odd_shapes, Dtype::fp32, 6},
    {even_misaligned_shapes, Dtype::fp32, 4},
    {square_shapes, Dtype::fp32, 3},
    {scattered_shapes, Dtype::fp32, 4},
    {transformer_shapes, Dtype::fp8, 16},
    {head_shapes, Dtype::fp8, 5},
    {square_shapes, Dtype::fp8, 3},
    {scattered_shapes, Dtype::fp8, 3},
}};

GemmShapes chosen_from(const Stratum& stratum, std::uint64_t seed, bool full, std::int64_t round) {
  GemmShapes shapes = stratum.candidates();
  for (GemmShape& shape : shapes) shape.dtype = stratum.dtype;
  std::erase_if(shapes, [](const GemmShape& s) { return !supported(s) || !affordable(s); });
  shuffle(shapes, seed);
  const std::size_t wanted = stratum.quick * (full ? 4 : 1);
  const auto earlier = static_cast<std::uint64_t>(round - 1);
  if (earlier > shapes.size() / wanted) return {};  // none left
  const std::size_t first = std::min(shapes.size(), static_cast<std::size_t>(earlier) * wanted);
  const std::size_t last = std::min(shapes.size(), first + wanted);
  return {shapes.begin() + static_cast<std::ptrdiff_t>(first),
          shapes.begin() + static_cast<std::ptrdiff_t>(last)};
}

// Interleaved by the share of its stratum that a shape completes: (i + 1/2) / size. A shape of two
// strata stands twice.
GemmShapes shapes_of_round(bool full, std::int64_t round) {
  std::vector<std::pair<double, GemmShape>> placed;
  std::uint64_t seed = 1;
  for (const Stratum& stratum : strata) {
    const GemmShapes chosen = chosen_from(stratum, seed++, full, round);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      placed.emplace_back((static_cast<double>(i) + 0.5) / static_cast<double>(chosen.size()),
                          chosen[i]);
    }
  }
  std::stable_sort(
      placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  GemmShapes shapes;
  for (const auto& [position, shape] : placed) shapes.push_back(shape);
  return shapes;
}

}  // namespace

std::string_view name(GemmLayout layout) {
  constexpr std::array<std::string_view, 3> names{"TN", "NN", "NT"};
  return names[static_cast<std::size_t>(layout)];
}

double flops(const GemmShape& shape) {
  return 2 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k);
}

std::int64_t left_bytes(const GemmShape& shape) {
  return shape.m * shape.k * static_cast<std::int64_t>(info(shape.dtype).bytes);
}

std::int64_t right_bytes(const GemmShape& shape) {
  return shape.n * shape.k * static_cast<std::int64_t>(info(shape.dtype).bytes);
}

std::int64_t output_bytes(const GemmShape& shape) {
  const Dtype written = shape.dtype == Dtype::fp8 ? Dtype::bf16 : shape.dtype;
  return shape.m * shape.n * static_cast<std::int64_t>(info(written).bytes);
}

std::vector<GemmShape> gemm_design(bool full, std::int64_t round) {
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, Dtype, GemmLayout>> seen;
  GemmShapes design;
  for (std::int64_t r = 1; r <= round; ++r) {
    design.clear();
    for (const GemmShape& s : shapes_of_round(full, r)) {
      if (seen.emplace(s.m, s.n, s.k, s.dtype, s.layout).second) design.push_back(s);
    }
    if (design.empty()) break;
  }
  return design;
}

}  // namespace stepsight::calibrate
