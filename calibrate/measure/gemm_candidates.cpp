#include "calibrate/measure/gemm_candidates.h"

#include <array>
#include <span>

namespace stepsight::calibrate {
namespace {

constexpr std::array<std::int64_t, 8> tokens{512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};

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
void add_training_products(GemmShapes& shapes, std::int64_t m, Layer layer) {
  shapes.push_back({.m = m, .n = layer.out, .k = layer.in, .layout = GemmLayout::tn});
  shapes.push_back({.m = m, .n = layer.in, .k = layer.out, .layout = GemmLayout::nn});
  shapes.push_back({.m = layer.out, .n = layer.in, .k = m, .layout = GemmLayout::nt});
}

// Of Llama 2, GPT-2 padded to 64, Llama 3, Qwen 2.5, T5, Mistral 7B v0.3 and Phi-3.
constexpr std::array<std::int64_t, 7> aligned_vocabularies{
    32000, 50304, 128256, 151936, 32128, 32768, 32064};
// Of GPT-2, BERT uncased and cased, RoBERTa, Llama 2 with a padding token, SciBERT, Whisper,
// multilingual BERT, DeBERTa v3 and XLM-R; the larger models of later years pad theirs.
constexpr std::array<std::int64_t, 10> misaligned_vocabularies{
    50257, 30522, 28996, 50265, 32001, 31090, 51865, 119547, 128100, 250002};

// In steps of a factor of about 1.4.
constexpr std::array<std::int64_t, 13> odd_widths{
    257, 361, 513, 725, 1001, 1447, 2047, 2897, 4097, 5793, 8191, 11585, 16383};
constexpr std::array<std::int64_t, 12> widths_of_2{
    258, 362, 510, 722, 1026, 1450, 2046, 2898, 4098, 5794, 8190, 11586};
constexpr std::array<std::int64_t, 12> widths_of_4{
    260, 364, 500, 724, 1028, 1500, 2044, 2900, 4100, 5796, 8188, 11588};

GemmShapes heads(std::span<const std::int64_t> vocabularies, std::int64_t widest) {
  GemmShapes shapes;
  for (const std::int64_t vocabulary : vocabularies) {
    for (const std::int64_t hidden : {768, 1024, 1600, 2048, 4096, 5120, 8192}) {
      if (hidden > widest) break;
      for (const std::int64_t m : tokens) add_training_products(shapes, m, {vocabulary, hidden});
    }
  }
  return shapes;
}

GemmShapes misaligned_layers(std::span<const std::int64_t> sides) {
  GemmShapes shapes;
  for (const std::int64_t width : sides) {
    for (const std::int64_t m : {512, 1024, 2048, 3152, 4096, 8192, 16384}) {
      for (const std::int64_t aligned : {512, 768, 1024, 1600, 2048, 3072, 4096, 6144, 8192}) {
        add_training_products(shapes, m, {width, aligned});
        add_training_products(shapes, m, {aligned, width});
      }
      add_training_products(shapes, m - 1, {width, 1024});
      add_training_products(shapes, m + 5, {4096, width});
      add_training_products(shapes, m, {width, width});
    }
  }
  return shapes;
}

}  // namespace

GemmShapes transformer_shapes() {
  GemmShapes shapes;
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

GemmShapes head_shapes() {
  return heads(aligned_vocabularies, 8192);
}

GemmShapes misaligned_head_shapes() {
  return heads(misaligned_vocabularies, 4096);
}

GemmShapes odd_shapes() {
  return misaligned_layers(odd_widths);
}

GemmShapes even_misaligned_shapes() {
  GemmShapes shapes = misaligned_layers(widths_of_2);
  const GemmShapes of_4 = misaligned_layers(widths_of_4);
  shapes.insert(shapes.end(), of_4.begin(), of_4.end());
  return shapes;
}

GemmShapes few_token_shapes() {
  GemmShapes shapes;
  for (const std::int64_t m :
       {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256}) {
    for (const std::int64_t out :
         {768, 2048, 4096, 6144, 8192, 14336, 28672, 32000, 50304, 128256}) {
      for (const std::int64_t in : {768, 1600, 2048, 4096, 8192}) {
        add_training_products(shapes, m, {out, in});
        add_training_products(shapes, m, {in, out});
      }
    }
  }
  return shapes;
}

GemmShapes narrow_layer_shapes() {
  GemmShapes shapes;
  for (const std::int64_t narrow : {1, 2, 3, 4, 5, 8, 10, 16, 27, 32, 50, 64, 100, 147, 160}) {
    for (const std::int64_t wide : {256, 512, 768, 1024, 2048, 4096, 8192}) {
      for (const std::int64_t m : tokens) {
        add_training_products(shapes, m, {narrow, wide});
        add_training_products(shapes, m, {wide, narrow});
      }
    }
  }
  return shapes;
}

GemmShapes square_shapes() {
  GemmShapes shapes;
  for (const std::int64_t x :
       {128,  256,  384,  512,  640,  768,  1000, 1024, 1280, 1536, 1920,  2048,  2304,  2560,
        3072, 3200, 4000, 4096, 4608, 5120, 6144, 7168, 8192, 9216, 10240, 12288, 14336, 16384}) {
    for (const GemmLayout layout : {GemmLayout::tn, GemmLayout::nn, GemmLayout::nt}) {
      shapes.push_back({.m = x, .n = x, .k = x, .layout = layout});
    }
  }
  return shapes;
}

GemmShapes huge_shapes() {
  GemmShapes shapes;
  for (const std::int64_t m : {16384, 32768, 65536}) {
    for (const std::int64_t in : {4096, 8192, 12288, 16384}) {
      for (const std::int64_t out : {8192, 16384, 28672})
        add_training_products(shapes, m, {out, in});
    }
  }
  return shapes;
}

GemmShapes scattered_shapes() {
  GemmShapes shapes;
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

}  // namespace stepsight::calibrate
