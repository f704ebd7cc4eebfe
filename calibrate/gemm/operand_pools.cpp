#include "calibrate/gemm/operand_pools.h"

#include <algorithm>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/kernels.h"
#include "calibrate/measure/sizes.h"

namespace stepsight::calibrate {
namespace {

constexpr std::int64_t alignment = 256;  // what cudaMalloc gives, and the heuristic assumes

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

OperandPools::OperandPools(std::int64_t l2_bytes, std::int64_t free_bytes, cudaStream_t stream)
    : l2_bytes_(l2_bytes),
      input_bytes_(std::min<std::int64_t>(free_bytes / 10, 8LL << 30) / alignment * alignment),
      output_bytes_(std::min<std::int64_t>(free_bytes / 5 * 2, 20LL << 30) / alignment * alignment),
      stream_(stream) {}

const char* OperandPools::inputs(Dtype dtype) {
  const Dtype stored = dtype == Dtype::tf32 ? Dtype::fp32 : dtype;
  DeviceMemory& pool = inputs_[static_cast<std::size_t>(stored)];
  if (!pool) {
    pool = make_device_memory(input_bytes_);
    const auto elements = input_bytes_ / static_cast<std::int64_t>(info(stored).bytes);
    launch_fill_normal(stored, pool.get(), elements, 1, stream_);
    check_launch("fill_normal");
    check(cudaStreamSynchronize(stream_), "fill_normal");
  }
  return static_cast<const char*>(pool.get());
}

std::optional<Operands> OperandPools::place(const GemmShape& shape, std::int64_t limit) {
  const std::int64_t left = aligned(left_bytes(shape));
  const std::int64_t right = aligned(right_bytes(shape));
  const std::int64_t out = aligned(output_bytes(shape));
  if (left + right > input_bytes_ || out > output_bytes_) return std::nullopt;
  if (!outputs_) outputs_ = make_device_memory(output_bytes_);
  const std::int64_t room = std::min(input_bytes_ / (left + right), output_bytes_ / out);
  const char* first = inputs(shape.dtype);
  return Operands{.left = first,
                  .right = first + left,
                  .out = static_cast<char*>(outputs_.get()),
                  .in_stride = left + right,
                  .out_stride = out,
                  .copies = rotation_copies(left + right + out, l2_bytes_, std::min(limit, room))};
}

}  // namespace stepsight::calibrate
