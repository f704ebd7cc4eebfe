// The driver's management library, loaded when it is there: clocks, throttling, temperature, power
// and the PCIe link. Reads only; no setting of a card is ever changed.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "calibrate/measure/record.h"

namespace stepsight::calibrate {

class Nvml {
 public:
  // Without the library, or where a machine hides it, every query below comes back empty.
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  Nvml(Nvml&&) = delete;
  Nvml& operator=(Nvml&&) = delete;

  std::string driver_version() const;

  // sm_MHz, sm_max_MHz, memory_MHz, temperature_C, power_W, power_limit_W, throttle.
  Record clocks(const std::string& pci_bus_id) const;

  // pcie_generation, pcie_width and what the card could do at most; where it has NVLink the number
  // of links that are up (nvlinks) and what the first leads to (nvlink_to: switch, gpu or other).
  Record link(const std::string& pci_bus_id) const;

  // Highest clock of the multiprocessors, and the limit in force; 0 where not known.
  double highest_sm_mhz(const std::string& pci_bus_id) const;
  double power_limit_w(const std::string& pci_bus_id) const;

  struct Sample {
    bool valid = false;
    unsigned sm_mhz = 0;
    unsigned milliwatts = 0;     // a mean of the last second on some cards
    std::uint64_t throttle = 0;  // bits
  };
  Sample sample(const std::string& pci_bus_id) const;

  // Millijoules since the driver was loaded; nullopt on cards that do not count them.
  std::optional<std::uint64_t> energy_mj(const std::string& pci_bus_id) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

// "sw_power_cap,hw_slowdown"; "none" for 0. Bits as NVML's nvmlClocksEventReason* has them.
std::string throttle_text(std::uint64_t bits);

}  // namespace stepsight::calibrate
