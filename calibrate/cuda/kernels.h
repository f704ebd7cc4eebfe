// The few kernels that are ours. This header has no CUDA in it but the name of a stream, so that
// the .cu file (C++17, which every nvcc speaks) is the only one that nvcc compiles. Launches are
// asynchronous; their errors are what check_launch() finds.
#pragma once
#include <cstdint>

#include "model/dtype.h"

struct CUstream_st;

namespace stepsight::calibrate {

// Normal random numbers (mean 0, deviation 1) of the given format: power and clocks depend on the
// data, and zeros make a GPU look up to a fifth faster. `data` is aligned to 16 bytes.
void launch_fill_normal(
    Dtype dtype, void* data, std::int64_t elements, std::uint64_t seed, CUstream_st* stream);

// data[i] = (7 rank + i) mod 16, what send_value() of measure/collective_table.h says.
void launch_fill_pattern(float* data, std::int64_t elements, int rank, CUstream_st* stream);

// Memory traffic in 16-byte words; `bytes` is the size of one array, a multiple of 16.
void launch_read(const void* in, std::int64_t bytes, std::uint32_t* sink, CUstream_st* stream);
void launch_write(void* out, std::int64_t bytes, CUstream_st* stream);
void launch_copy(const void* in, void* out, std::int64_t bytes, CUstream_st* stream);
// out = a + 3 b in fp32: two arrays read, one written.
void launch_triad(const void* a, const void* b, void* out, std::int64_t bytes, CUstream_st* stream);

// A copy by `blocks` blocks of 512 threads, each of which fills a share of one multiprocessor for
// as long as the copy lasts: what a collective's kernel does to the work beside it, without NCCL.
void launch_copy_by_few(
    const void* in, void* out, std::int64_t bytes, int blocks, CUstream_st* stream);

// Nothing, by one thread; the second with 256 bytes of arguments, as many kernels of frameworks
// have.
void launch_empty(CUstream_st* stream);
void launch_empty_with_arguments(CUstream_st* stream);

// Keeps the stream busy for about `nanoseconds`, while the host issues what comes after it.
void launch_spin(std::int64_t nanoseconds, CUstream_st* stream);

}  // namespace stepsight::calibrate
