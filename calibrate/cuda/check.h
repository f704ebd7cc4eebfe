// Every status of the CUDA runtime is checked; the error names the call, the file and the line.
#pragma once
#include <source_location>
#include <string_view>

#include <cuda_runtime_api.h>

#include "model/errors.h"

namespace stepsight::calibrate {

// A driver, library or GPU that failed. A person can mend it (or their machine), so it is a
// UserError and not a bug.
struct GpuError : UserError {
  using UserError::UserError;
};

// "cudaMalloc: out of memory (calibrate/cuda/resources.cpp:21)".
[[noreturn]] void fail_call(std::string_view call,
                            std::string_view reason,
                            const std::source_location& where);

// Throws GpuError unless `status` is cudaSuccess.
void check(cudaError_t status,
           std::string_view call,
           const std::source_location& where = std::source_location::current());

// After a kernel launch, whose errors only cudaGetLastError tells.
void check_launch(std::string_view kernel,
                  const std::source_location& where = std::source_location::current());

}  // namespace stepsight::calibrate
