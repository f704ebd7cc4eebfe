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
  std::int64_t nvlinks = 0;  // that are up
  std::string nvlink_to;     // "switch", "gpu" or "other"; empty = not stated
  std::string throttle;      // reasons seen while measuring, "none" or empty
};

// Reads the head of an own measurement file. UserError when it is not one.
MachineFacts read_machine(const std::string& path);

// Name for what connects the GPUs of the machine, from what the driver says of its links and what
// such a card's links are called (model/usual_link.h): "nvlink4-nvswitch", "pcie4-x16-nop2p".
// "measured" where the driver says nothing. `card`: the profile's name.
std::string link_of_machine(const MachineFacts& machine, const std::string& card);

}  // namespace stepsight
