#include "calibrate/gemm/lt_gemm.h"

#include <array>
#include <string>

#include "calibrate/cuda/check.h"

namespace stepsight::calibrate {
namespace {

constexpr std::int64_t workspace_bytes = 32LL << 20;

struct Formats {
  cudaDataType_t in;
  cudaDataType_t out;
  cublasComputeType_t compute;
};

constexpr std::array<Formats, 5> formats{{
    {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},            // fp32
    {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32},  // tf32
    {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F},            // fp16
    {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F},          // bf16
    {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F},       // fp8
}};

template <typename Value>
void set(cublasLtMatmulDescOpaque_t* operation,
         cublasLtMatmulDescAttributes_t attribute,
         const Value& value) {
  check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
}

// A row-major matrix of `rows` x `cols` is a column-major one of `cols` x `rows`.
LtOwned<cublasLtMatrixLayoutOpaque_t> row_major(cudaDataType_t type,
                                                std::int64_t rows,
                                                std::int64_t cols) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(
      cublasLtMatrixLayoutCreate(
          &layout, type, static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows), cols),
      "cublasLtMatrixLayoutCreate");
  return LtOwned<cublasLtMatrixLayoutOpaque_t>(layout);
}

// Shapes and formats; the algorithm is still to be chosen.
GemmPlan describe(const GemmShape& s) {
  const Formats& format = formats[static_cast<std::size_t>(s.dtype)];
  cublasLtMatmulDesc_t operation = nullptr;
  check(cublasLtMatmulDescCreate(&operation, format.compute, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  GemmPlan plan;
  plan.operation.reset(operation);
  const bool right_transposed = s.layout == GemmLayout::tn;  // stored [n, k]
  const bool left_transposed = s.layout == GemmLayout::nt;   // stored [k, m]
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, right_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, left_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  plan.right = right_transposed ? row_major(format.in, s.n, s.k) : row_major(format.in, s.k, s.n);
  plan.left = left_transposed ? row_major(format.in, s.k, s.m) : row_major(format.in, s.m, s.k);
  plan.out = row_major(format.out, s.m, s.n);
  return plan;
}

}  // namespace

void check(cublasStatus_t status, std::string_view call, const std::source_location& where) {
  if (status != CUBLAS_STATUS_SUCCESS) fail_call(call, cublasLtGetStatusString(status), where);
}

LtGemm::LtGemm()
    : workspace_(make_device_memory(workspace_bytes)), one_(make_device_memory(sizeof(float))) {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle), "cublasLtCreate");
  handle_.reset(handle);
  const float one = 1;
  check(cudaMemcpy(one_.get(), &one, sizeof one, cudaMemcpyHostToDevice), "cudaMemcpy");
}

std::optional<GemmPlan> LtGemm::plan(const GemmShape& shape) const {
  GemmPlan plan = describe(shape);
  if (shape.dtype == Dtype::fp8) {
    // Scales as scaled products of frameworks pass them, and the forward pass' fast accumulation.
    set(plan.operation.get(), CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, one_.get());
    set(plan.operation.get(), CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, one_.get());
    set(plan.operation.get(), CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  }
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const LtOwned<cublasLtMatmulPreferenceOpaque_t> owner(preference);
  const std::uint64_t workspace = workspace_bytes;
  check(cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace),
        "cublasLtMatmulPreferenceSetAttribute");
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_.get(),
                                                               plan.operation.get(),
                                                               plan.right.get(),
                                                               plan.left.get(),
                                                               plan.out.get(),
                                                               plan.out.get(),
                                                               preference,
                                                               1,
                                                               &result,
                                                               &found);
  // Both say that this card has no such product, which is an answer and no failure.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) {
    return std::nullopt;
  }
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0) return std::nullopt;
  plan.algorithm = result.algo;
  return plan;
}

void LtGemm::launch(const GemmPlan& plan,
                    const void* left,
                    const void* right,
                    void* out,
                    cudaStream_t stream) const {
  const float alpha = 1;
  const float beta = 0;
  check(cublasLtMatmul(handle_.get(),
                       plan.operation.get(),
                       &alpha,
                       right,
                       plan.right.get(),
                       left,
                       plan.left.get(),
                       &beta,
                       out,
                       plan.out.get(),
                       out,
                       plan.out.get(),
                       &plan.algorithm,
                       workspace_.get(),
                       static_cast<std::size_t>(workspace_bytes),
                       stream),
        "cublasLtMatmul");
}

std::string LtGemm::version_text() {
  const std::size_t version = cublasLtGetVersion();  // 130100 = 13.1.0
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace stepsight::calibrate
