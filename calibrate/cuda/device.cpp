#include "calibrate/cuda/device.h"

#include <array>

#include <cuda_runtime_api.h>

#include "calibrate/cuda/check.h"

namespace stepsight::calibrate {

std::vector<Device> require_gpus() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    const std::string reason = status == cudaSuccess ? "none found" : cudaGetErrorString(status);
    throw UserError("no usable NVIDIA GPU here: " + reason);
  }
  std::vector<Device> devices;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    std::array<char, 32> bus_id{};
    check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    check(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), index),
          "cudaDeviceGetPCIBusId");
    devices.push_back({.index = index,
                       .name = properties.name,
                       .pci_bus_id = bus_id.data(),
                       .major = properties.major,
                       .minor = properties.minor,
                       .sm_count = properties.multiProcessorCount,
                       .l2_bytes = properties.l2CacheSize,
                       .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem)});
  }
  return devices;
}

Device use_gpu(int index) {
  const std::vector<Device> devices = require_gpus();
  if (index < 0 || index >= static_cast<int>(devices.size())) {
    throw UserError("there is no GPU " + std::to_string(index) + "; this process sees " +
                    std::to_string(devices.size()));
  }
  check(cudaSetDevice(index), "cudaSetDevice");
  return devices[static_cast<std::size_t>(index)];
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Record gpu_record(const Device& device, std::size_t gpus) {
  return {field("gpu", device.name),
          field("gpus", gpus),
          field("compute_capability",
                std::to_string(device.major) + "." + std::to_string(device.minor)),
          field("sm_count", device.sm_count),
          field("l2_bytes", device.l2_bytes),
          field("memory_bytes", device.memory_bytes)};
}

}  // namespace stepsight::calibrate
