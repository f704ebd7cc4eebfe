// Matrix products through cuBLASLt as frameworks run them: the heuristic's first algorithm.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

#include <cublasLt.h>

#include "calibrate/cuda/resources.h"
#include "calibrate/measure/gemm_design.h"

namespace stepsight::calibrate {

// Throws GpuError unless `status` is CUBLAS_STATUS_SUCCESS.
void check(cublasStatus_t status,
           std::string_view call,
           const std::source_location& where = std::source_location::current());

struct LtFree {
  void operator()(cublasLtContext* handle) const { cublasLtDestroy(handle); }
  void operator()(cublasLtMatmulDescOpaque_t* desc) const { cublasLtMatmulDescDestroy(desc); }
  void operator()(cublasLtMatrixLayoutOpaque_t* layout) const {
    cublasLtMatrixLayoutDestroy(layout);
  }
  void operator()(cublasLtMatmulPreferenceOpaque_t* preference) const {
    cublasLtMatmulPreferenceDestroy(preference);
  }
};

template <typename Opaque>
using LtOwned = std::unique_ptr<Opaque, LtFree>;

// A product that is ready to run. cuBLASLt is column-major, so our row-major y = a b is computed as
// y^T = b^T a^T: its first operand is our right one.
struct GemmPlan {
  LtOwned<cublasLtMatmulDescOpaque_t> operation;
  LtOwned<cublasLtMatrixLayoutOpaque_t> right;
  LtOwned<cublasLtMatrixLayoutOpaque_t> left;
  LtOwned<cublasLtMatrixLayoutOpaque_t> out;
  cublasLtMatmulAlgo_t algorithm{};
};

class LtGemm {
 public:
  LtGemm();  // on the current device, with PyTorch's workspace of 32 MiB on Hopper and later

  // nullopt when the card or the library has no algorithm for the shape (fp8 before Ada, say).
  std::optional<GemmPlan> plan(const GemmShape& shape) const;

  // out = left * right, asynchronously. Operands lie as `shape` of the plan says, aligned to 256
  // bytes; alpha = 1, beta = 0, accumulation in fp32.
  void launch(const GemmPlan& plan,
              const void* left,
              const void* right,
              void* out,
              cudaStream_t stream) const;

  static std::string version_text();  // "13.1.0"

 private:
  LtOwned<cublasLtContext> handle_;
  DeviceMemory workspace_;
  DeviceMemory one_;  // scale of fp8 operands
};

}  // namespace stepsight::calibrate
