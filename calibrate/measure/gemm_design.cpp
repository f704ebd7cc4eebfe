#include "calibrate/measure/gemm_design.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace stepsight::calibrate {
namespace {

using Shapes = std::vector<GemmShape>;

constexpr std::array<std::int64_t, 8> tokens{512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
constexpr std::array<std::int64_t, 6> vocabularies{32000, 50257, 50304, 128256, 151936, 30522};

// Output and input width of one linear layer.
struct Layer {
  std::int64_t out;
  std::int64_t in;
};

// Widths that published models have: hidden, feed-forward, and width of keys and values together.
struct Width {
  std::int64_t hidden;
  std::int64_t ffn;
  std::int64_t kv;
};

constexpr std::array<Width, 16> widths{{
    {768, 3072, 1536},      // GPT-2 124M, BERT base
    {1024, 4096, 2048},     // GPT-2 355M, BERT large
    {1280, 5120, 2560},     // GPT-2 774M
    {1536, 8960, 512},      // Qwen2.5 1.5B
    {1600, 6400, 3200},     // GPT-2 1558M
    {2048, 8192, 1024},     // Llama-3.2 1B
    {2560, 10240, 5120},    // GPT-3 2.7B
    {3072, 8192, 2048},     // Llama-3.2 3B
    {4096, 11008, 8192},    // Llama-2 7B
    {4096, 14336, 2048},    // Llama-3 8B
    {5120, 13824, 10240},   // Llama-2 13B
    {6144, 24576, 12288},   // GPT-NeoX 20B
    {7168, 20480, 2048},    // 34B class
    {8192, 28672, 2048},    // Llama-2/3 70B
    {12288, 49152, 24576},  // GPT-3 175B
    {16384, 53248, 2048},   // Llama-3 405B
}};

// Forward, input gradient and weight gradient of one layer on `m` tokens.
void add_training_products(Shapes& shapes, std::int64_t m, Layer layer) {
  shapes.push_back({.m = m, .n = layer.out, .k = layer.in, .layout = GemmLayout::tn});
  shapes.push_back({.m = m, .n = layer.in, .k = layer.out, .layout = GemmLayout::nn});
  shapes.push_back({.m = layer.out, .n = layer.in, .k = m, .layout = GemmLayout::nt});
}

// Every linear layer of a block, whole and cut for 2, 4 and 8 tensor-parallel ranks.
Shapes transformer_shapes() {
  Shapes shapes;
  for (const Width& width : widths) {
    const std::int64_t h = width.hidden;
    for (const std::int64_t m : tokens) {
      for (const Layer layer : {Layer{h + width.kv, h},
                                Layer{h, h},
                                Layer{width.kv / 2, h},
                                Layer{width.ffn, h},
                                Layer{2 * width.ffn, h},
                                Layer{h, width.ffn}}) {
        add_training_products(shapes, m, layer);
      }
      if (h < 4096) continue;
      for (const std::int64_t cut : {2, 4, 8}) {
        add_training_products(shapes, m, {(h + width.kv) / cut, h});
        add_training_products(shapes, m, {width.ffn / cut, h});
        add_training_products(shapes, m, {h, width.ffn / cut});
      }
    }
  }
  return shapes;
}

Shapes head_shapes() {
  Shapes shapes;
  for (const std::int64_t vocabulary : vocabularies) {
    for (const std::int64_t hidden : {768, 1024, 1600, 2048, 4096, 5120, 8192}) {
      for (const std::int64_t m : tokens) add_training_products(shapes, m, {vocabulary, hidden});
    }
  }
  return shapes;
}

// A dimension that is 1, 2 or 4 modulo 8 forces kernels with narrower loads; each of the three
// dimensions alone and all of them together.
Shapes misaligned_shapes() {
  Shapes shapes;
  constexpr std::array<std::int64_t, 12> odd{
      777, 1023, 1026, 2044, 2047, 3073, 4095, 4098, 5124, 8191, 8196, 50257};
  for (const std::int64_t x : odd) {
    for (const std::int64_t y : {1024, 4096, 8192}) {
      add_training_products(shapes, y, {x, 2048});
      add_training_products(shapes, y, {2048, x});
      add_training_products(shapes, x, {y, 4096});
    }
    if (x > 10000) continue;
    for (const GemmLayout layout : {GemmLayout::tn, GemmLayout::nn, GemmLayout::nt}) {
      shapes.push_back({.m = x, .n = x, .k = x, .layout = layout});
    }
  }
  return shapes;
}

Shapes skinny_shapes() {
  Shapes shapes;
  for (const std::int64_t m : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    for (const std::int64_t wide : {768, 2048, 4096, 8192, 14336}) {
      for (const std::int64_t in : {768, 2048, 4096, 8192}) {
        add_training_products(shapes, m, {wide, in});
        shapes.push_back({.m = wide, .n = m, .k = in, .layout = GemmLayout::tn});
      }
    }
  }
  return shapes;
}

// Powers of two show the ramp; multiples of 384, 640 and 1000 fall between the tiles and waves.
Shapes square_shapes() {
  Shapes shapes;
  for (const std::int64_t x :
       {128,  256,  384,  512,  640,  768,  1000, 1024, 1280, 1536, 1920,  2048,  2304,  2560,
        3072, 3200, 4000, 4096, 4608, 5120, 6144, 7168, 8192, 9216, 10240, 12288, 14336, 16384}) {
    for (const GemmLayout layout : {GemmLayout::tn, GemmLayout::nn, GemmLayout::nt}) {
      shapes.push_back({.m = x, .n = x, .k = x, .layout = layout});
    }
  }
  return shapes;
}

// Long enough for the power limit to show.
Shapes huge_shapes() {
  Shapes shapes;
  for (const std::int64_t m : {16384, 32768, 65536}) {
    for (const std::int64_t in : {4096, 8192, 12288, 16384}) {
      for (const std::int64_t out : {8192, 16384, 28672})
        add_training_products(shapes, m, {out, in});
    }
  }
  return shapes;
}

// Anything goes: independent dimensions, spread evenly in logarithm, aligned to 64.
Shapes scattered_shapes() {
  Shapes shapes;
  constexpr std::array<std::int64_t, 12> sides{
      64, 192, 320, 576, 1088, 1856, 2944, 4928, 7232, 11456, 18496, 30016};
  for (const std::int64_t m : sides) {
    for (const std::int64_t n : sides) {
      for (const std::int64_t k : sides) {
        const auto layout = static_cast<GemmLayout>((m + n + k) / 64 % 3);
        shapes.push_back({.m = m, .n = n, .k = k, .layout = layout});
      }
    }
  }
  return shapes;
}

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
void shuffle(Shapes& shapes, std::uint64_t seed) {
  std::uint64_t state = seed;
  for (std::size_t i = shapes.size(); i > 1; --i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(shapes[i - 1], shapes[(state >> 33U) % i]);
  }
}

struct Stratum {
  Shapes (*candidates)();
  Dtype dtype;
  std::size_t quick;  // how many of them a quick run measures; a full one six times that
};

// The other formats share the fit's form with bf16 and need fewer points to pin its parameters.
constexpr std::array<Stratum, 23> strata{{
    {transformer_shapes, Dtype::bf16, 62}, {head_shapes, Dtype::bf16, 22},
    {misaligned_shapes, Dtype::bf16, 22},  {skinny_shapes, Dtype::bf16, 16},
    {square_shapes, Dtype::bf16, 12},      {huge_shapes, Dtype::bf16, 6},
    {scattered_shapes, Dtype::bf16, 12},   {transformer_shapes, Dtype::fp16, 12},
    {misaligned_shapes, Dtype::fp16, 5},   {square_shapes, Dtype::fp16, 4},
    {scattered_shapes, Dtype::fp16, 4},    {transformer_shapes, Dtype::tf32, 12},
    {misaligned_shapes, Dtype::tf32, 5},   {square_shapes, Dtype::tf32, 4},
    {scattered_shapes, Dtype::tf32, 4},    {transformer_shapes, Dtype::fp32, 12},
    {misaligned_shapes, Dtype::fp32, 5},   {square_shapes, Dtype::fp32, 4},
    {scattered_shapes, Dtype::fp32, 4},    {transformer_shapes, Dtype::fp8, 13},
    {head_shapes, Dtype::fp8, 4},          {square_shapes, Dtype::fp8, 4},
    {scattered_shapes, Dtype::fp8, 4},
}};

Shapes chosen_from(const Stratum& stratum, std::uint64_t seed, bool full) {
  Shapes shapes = stratum.candidates();
  for (GemmShape& shape : shapes) shape.dtype = stratum.dtype;
  std::erase_if(shapes, [](const GemmShape& s) { return !supported(s) || !affordable(s); });
  shuffle(shapes, seed);
  shapes.resize(std::min(shapes.size(), stratum.quick * (full ? 6 : 1)));
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

std::vector<GemmShape> gemm_design(bool full) {
  // Interleaved by the share of its stratum that a shape completes: (i + 1/2) / size.
  std::vector<std::pair<double, GemmShape>> placed;
  std::uint64_t seed = 1;
  for (const Stratum& stratum : strata) {
    const Shapes chosen = chosen_from(stratum, seed++, full);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      placed.emplace_back((static_cast<double>(i) + 0.5) / static_cast<double>(chosen.size()),
                          chosen[i]);
    }
  }
  std::stable_sort(
      placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Shapes design;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, Dtype, GemmLayout>> seen;
  for (const auto& [position, s] : placed) {
    if (seen.emplace(s.m, s.n, s.k, s.dtype, s.layout).second) design.push_back(s);
  }
  return design;
}

}  // namespace stepsight::calibrate
