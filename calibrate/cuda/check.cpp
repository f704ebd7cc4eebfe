#include "calibrate/cuda/check.h"

#include <string>

namespace stepsight::calibrate {

void fail_call(std::string_view call, std::string_view reason, const std::source_location& where) {
  // The path as the compiler saw it says where somebody built this, which helps nobody.
  std::string_view file = where.file_name();
  if (const auto at = file.rfind("calibrate/"); at != std::string_view::npos)
    file.remove_prefix(at);
  throw GpuError(std::string(call) + ": " + std::string(reason) + " (" + std::string(file) + ":" +
                 std::to_string(where.line()) + ")");
}

void check(cudaError_t status, std::string_view call, const std::source_location& where) {
  if (status != cudaSuccess) fail_call(call, cudaGetErrorString(status), where);
}

void check_launch(std::string_view kernel, const std::source_location& where) {
  check(cudaGetLastError(), kernel, where);
}

}  // namespace stepsight::calibrate
