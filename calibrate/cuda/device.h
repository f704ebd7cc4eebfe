// Which GPUs there are.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/measure/record.h"

namespace stepsight::calibrate {

struct Device {
  int index = 0;
  std::string name;
  std::string pci_bus_id;
  int major = 0;  // compute capability
  int minor = 0;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
};

// All GPUs this process sees. UserError of one line when there is no GPU or no usable driver.
std::vector<Device> require_gpus();

// Makes `index` the current device; UserError when there is no such GPU.
Device use_gpu(int index);

// "13.0" of 13000, as CUDA numbers its versions.
std::string cuda_version_text(int version);

// gpu, gpus, sm_count, compute_capability, l2_bytes, memory_bytes.
Record gpu_record(const Device& device, std::size_t gpus);

}  // namespace stepsight::calibrate
