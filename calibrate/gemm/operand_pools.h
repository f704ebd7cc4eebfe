// Random operands for hundreds of shapes without an allocation or a fill for each.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "calibrate/cuda/resources.h"
#include "calibrate/measure/gemm_design.h"

namespace stepsight::calibrate {

// Where the copies of one product's matrices lie: copy i is i strides after the first.
struct Operands {
  const char* left = nullptr;
  const char* right = nullptr;
  char* out = nullptr;
  std::int64_t in_stride = 0;
  std::int64_t out_stride = 0;
  std::int64_t copies = 1;  // enough to leave the L2 between two uses, where memory allows
};

class OperandPools {
 public:
  // Takes memory on the current device as shapes ask for it, at most a tenth of what is free for
  // inputs of each format (8 GiB) and two fifths for outputs (20 GiB).
  OperandPools(std::int64_t l2_bytes, std::int64_t free_bytes, cudaStream_t stream);

  // nullopt when the matrices do not fit. At most `limit` copies.
  std::optional<Operands> place(const GemmShape& shape, std::int64_t limit);

 private:
  const char* inputs(Dtype dtype);

  std::int64_t l2_bytes_;
  std::int64_t input_bytes_;
  std::int64_t output_bytes_;
  cudaStream_t stream_;
  std::array<DeviceMemory, 5> inputs_;  // by Dtype; tf32 uses fp32's
  DeviceMemory outputs_;
};

}  // namespace stepsight::calibrate
