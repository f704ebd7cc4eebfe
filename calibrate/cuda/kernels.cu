#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "calibrate/cuda/kernels.h"

namespace stepsight::calibrate {
namespace {

constexpr int threads = 256;
constexpr int words_per_thread = 4;  // enough loads in flight to fill the memory pipeline
constexpr std::int64_t words_per_block = threads * words_per_thread;

// SplitMix64 (Steele, Lea, Flood 2014): independent values from a counter, no state to keep.
__device__ std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Box-Muller on the two halves of one 64-bit value.
__device__ float normal(std::uint64_t counter) {
  const std::uint64_t bits = mix(counter);
  const float u = (static_cast<float>(bits >> 40) + 0.5f) * (1.0f / 16777216.0f);
  const float v = static_cast<float>(bits & 0xffffffU) * (1.0f / 16777216.0f);
  return sqrtf(-2.0f * __logf(u)) * __cosf(6.2831853f * v);
}

template <typename T>
__global__ void fill_normal(T* data, std::int64_t elements, std::uint64_t seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < elements; i += stride) data[i] = T(normal(mix(seed) + static_cast<std::uint64_t>(i)));
}

__global__ void fill_pattern(float* data, std::int64_t elements, int rank) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < elements; i += stride) {
    data[i] = static_cast<float>((static_cast<std::int64_t>(rank) * 7 + i) % 16);
  }
}

// Each block owns a tile of words; its threads take neighbouring words, so that a warp's accesses
// join into whole cache lines.
__device__ std::int64_t first_word() {
  return static_cast<std::int64_t>(blockIdx.x) * words_per_block + threadIdx.x;
}

__global__ void read_words(const uint4* in, std::int64_t words, std::uint32_t* sink) {
  std::uint32_t all = 0;
  const std::int64_t first = first_word();
#pragma unroll
  for (int j = 0; j < words_per_thread; ++j) {
    const std::int64_t i = first + j * threads;
    if (i >= words) continue;
    const uint4 word = in[i];
    all |= word.x ^ word.y ^ word.z ^ word.w;
  }
  // Never true for normal random numbers; without it the compiler would drop the loads.
  if (all == 0xdeadbeefU) *sink = all;
}

// Words that differ, as real data do; cheap enough not to show.
__global__ void write_words(uint4* out, std::int64_t words) {
  const std::int64_t first = first_word();
#pragma unroll
  for (int j = 0; j < words_per_thread; ++j) {
    const std::int64_t i = first + j * threads;
    const auto x = static_cast<std::uint32_t>(i) * 0x9e3779b1U;
    if (i < words) out[i] = make_uint4(x, x ^ 0x55555555U, x + 0x7f4a7c15U, ~x);
  }
}

__global__ void copy_words(const uint4* in, uint4* out, std::int64_t words) {
  const std::int64_t first = first_word();
  uint4 word[words_per_thread];
#pragma unroll
  for (int j = 0; j < words_per_thread; ++j) {
    const std::int64_t i = first + j * threads;
    if (i < words) word[j] = in[i];
  }
#pragma unroll
  for (int j = 0; j < words_per_thread; ++j) {
    const std::int64_t i = first + j * threads;
    if (i < words) out[i] = word[j];
  }
}

__global__ void triad_words(const float4* a, const float4* b, float4* out, std::int64_t words) {
  const std::int64_t first = first_word();
#pragma unroll
  for (int j = 0; j < words_per_thread; ++j) {
    const std::int64_t i = first + j * threads;
    if (i >= words) continue;
    const float4 x = a[i];
    const float4 y = b[i];
    out[i] = make_float4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w);
  }
}

__global__ void copy_by_few(const uint4* in, uint4* out, std::int64_t words) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < words; i += 4 * stride) {
    const uint4 w0 = in[i];
    const uint4 w1 = in[i + stride];
    const uint4 w2 = in[i + 2 * stride];
    const uint4 w3 = in[i + 3 * stride];
    out[i] = w0;
    out[i + stride] = w1;
    out[i + 2 * stride] = w2;
    out[i + 3 * stride] = w3;
  }
  for (; i < words; i += stride) out[i] = in[i];
}

struct ManyArguments {
  std::uint64_t values[32];
};

__global__ void empty_kernel() {}
__global__ void empty_kernel_with_arguments(ManyArguments) {}

__global__ void spin(std::int64_t nanoseconds) {
  const auto time = [] {
    std::int64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
  };
  const std::int64_t begin = time();
  while (time() - begin < nanoseconds) {
  }
}

unsigned tiles(std::int64_t words) {
  return static_cast<unsigned>((words + words_per_block - 1) / words_per_block);
}

template <typename T>
void fill(void* data, std::int64_t elements, std::uint64_t seed, CUstream_st* stream) {
  fill_normal<<<2048, threads, 0, stream>>>(static_cast<T*>(data), elements, seed);
}

}  // namespace

void launch_fill_normal(
    Dtype dtype, void* data, std::int64_t elements, std::uint64_t seed, CUstream_st* stream) {
  switch (dtype) {
    case Dtype::fp32:
    case Dtype::tf32:
      return fill<float>(data, elements, seed, stream);
    case Dtype::fp16:
      return fill<__half>(data, elements, seed, stream);
    case Dtype::bf16:
      return fill<__nv_bfloat16>(data, elements, seed, stream);
    case Dtype::fp8:
      return fill<__nv_fp8_e4m3>(data, elements, seed, stream);
  }
}

void launch_fill_pattern(float* data, std::int64_t elements, int rank, CUstream_st* stream) {
  fill_pattern<<<2048, threads, 0, stream>>>(data, elements, rank);
}

void launch_read(const void* in, std::int64_t bytes, std::uint32_t* sink, CUstream_st* stream) {
  const std::int64_t words = bytes / 16;
  read_words<<<tiles(words), threads, 0, stream>>>(static_cast<const uint4*>(in), words, sink);
}

void launch_write(void* out, std::int64_t bytes, CUstream_st* stream) {
  const std::int64_t words = bytes / 16;
  write_words<<<tiles(words), threads, 0, stream>>>(static_cast<uint4*>(out), words);
}

void launch_copy(const void* in, void* out, std::int64_t bytes, CUstream_st* stream) {
  const std::int64_t words = bytes / 16;
  copy_words<<<tiles(words), threads, 0, stream>>>(
      static_cast<const uint4*>(in), static_cast<uint4*>(out), words);
}

void launch_triad(
    const void* a, const void* b, void* out, std::int64_t bytes, CUstream_st* stream) {
  const std::int64_t words = bytes / 16;
  triad_words<<<tiles(words), threads, 0, stream>>>(static_cast<const float4*>(a),
                                                    static_cast<const float4*>(b),
                                                    static_cast<float4*>(out),
                                                    words);
}

void launch_copy_by_few(
    const void* in, void* out, std::int64_t bytes, int blocks, CUstream_st* stream) {
  copy_by_few<<<static_cast<unsigned>(blocks), 512, 0, stream>>>(
      static_cast<const uint4*>(in), static_cast<uint4*>(out), bytes / 16);
}

void launch_empty(CUstream_st* stream) {
  empty_kernel<<<1, 1, 0, stream>>>();
}

void launch_empty_with_arguments(CUstream_st* stream) {
  empty_kernel_with_arguments<<<1, 1, 0, stream>>>(ManyArguments{});
}

void launch_spin(std::int64_t nanoseconds, CUstream_st* stream) {
  spin<<<1, 1, 0, stream>>>(nanoseconds);
}

}  // namespace stepsight::calibrate
