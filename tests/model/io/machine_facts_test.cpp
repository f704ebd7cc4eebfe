#include "model/io/machine_facts.h"

#include <filesystem>
#include <fstream>

#include "tests/catch2.h"

using namespace stepsight;

namespace {

MachineFacts machine(std::int64_t gpus,
                     std::int64_t nvlinks,
                     std::string to,
                     std::int64_t pcie = 5) {
  MachineFacts m;
  m.gpus = gpus;
  m.nvlinks = nvlinks;
  m.nvlink_to = std::move(to);
  m.pcie_max_generation = pcie;
  return m;
}

}  // namespace

TEST_CASE("the driver's word on NVLink names what connects the GPUs") {
  CHECK(link_of_machine(machine(2, 18, "switch"), "h200-sxm") == "nvlink4-nvswitch");
  CHECK(link_of_machine(machine(8, 12, "switch"), "a100-sxm-80") == "nvlink3-nvswitch");
  CHECK(link_of_machine(machine(8, 6, "gpu"), "v100-sxm") == "nvlink2-mesh");
  CHECK(link_of_machine(machine(2, 4, "gpu"), "rtx-3090") == "nvlink3-bridge-pcie4-x16-nop2p");
  // A virtual machine may hide the far end.
  CHECK(link_of_machine(machine(2, 18, ""), "h200-sxm") == "nvlink4-nvswitch");
}

TEST_CASE("without NVLink it is PCIe, and without any word nothing is made up") {
  CHECK(link_of_machine(machine(2, 0, ""), "rtx-4090") == "pcie4-x16-nop2p");
  CHECK(link_of_machine(machine(2, 0, "", 0), "rtx-4090") == "measured");
}

TEST_CASE("the links that are up are read from a measurement file") {
  const auto path = std::filesystem::temp_directory_path() / "stepsight_machine_facts_test.json";
  std::ofstream(path) << R"({"schema": 1, "tool": "t", "machine": {"gpu": "NVIDIA H200", "gpus": 2,
    "pcie_max_generation": 5, "nvlinks": 18, "nvlink_to": "switch"}, "points": []})";
  const MachineFacts m = read_machine(path.string());
  std::filesystem::remove(path);
  CHECK(m.nvlinks == 18);
  CHECK(m.nvlink_to == "switch");
  CHECK(link_of_machine(m, "h200-sxm") == "nvlink4-nvswitch");
}
