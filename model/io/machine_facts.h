// What a measurement file says of the machine it was made on, beside its points.
#pragma once
#include <cstdint>
#include <string>

namespace stepsight {

struct MachineFacts {
  std::string tool;
  std::string status;  // "complete", "budget" or "interrupted"; empty where the tool has none
  std::string gpu;     // as the driver names it
  std::int64_t gpus = 1;
  std::int64_t multiprocessors = 0;
  double memory_bytes = 0;
  double l2_bytes = 0;
  std::int64_t pcie_generation = 0;  // 0 = not stated
  std::int64_t pcie_width = 0;
  std::int64_t pcie_max_generation = 0;
  std::int64_t pcie_max_width = 0;
  std::string throttle;  // reasons seen while measuring, "none" or empty
};

// Reads the head of an own measurement file. UserError when it is not one.
MachineFacts read_machine(const std::string& path);

}  // namespace stepsight
