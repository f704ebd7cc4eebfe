// The public sweeps of collectives in calibrate/measurements/imported/nccl, and the machines behind
// them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/io/csv.h"
#include "model/io/read_file.h"
#include "tests/catch2.h"

namespace stepsight {

// What the sweeps in calibrate/measurements/imported/nccl were measured on, by the start of their
// names; the first row that fits. An empty class: the index does not say what decides (the
// network's rate), the machine was throttled on purpose (NCCL_GRAPH_FILE), or it has other wires
// (Intel).
struct SweepClass {
  std::string_view begins;
  std::string_view link;
  std::int64_t ranks_a_node = 0;  // 0: as the index has it
};
inline constexpr SweepClass sweep_classes[] = {
    {"a100_sxm_", "nvlink3-nvswitch"},
    {"ext_vtrain_a100_", "nvlink3-nvswitch"},
    {"ext_sailor_a100-40_", "nvlink3-nvswitch"},
    {"ext_a100_40gb_sxm_", "nvlink3-nvswitch"},
    {"b200_", "nvlink5-nvswitch"},
    {"b300_", "nvlink5-nvswitch"},
    {"gb200_", "nvlink5-nvl72"},
    {"gb300_", "nvlink5-nvl72"},
    {"ext_gb200_72gpu", "nvlink5-nvl72", 72},
    {"ext_gb200_", "nvlink5-nvl72+72x400G-ib", 72},
    {"h100_sxm_", "nvlink4-nvswitch"},
    {"h200_sxm_", "nvlink4-nvswitch"},
    {"ext_h100_8gpu_", "nvlink4-nvswitch"},
    {"ext_h100_16gpu_2node_ib_dgx", "nvlink4-nvswitch+8x400G-ib"},
    {"ext_h100_16gpu_2node_oci_b", "nvlink4-nvswitch+16x200G-roce"},
    {"ext_h100_16gpu_2node_p5_efa", "nvlink4-nvswitch+32x100G-efa"},
    {"ext_h100_96gpu_12node", "nvlink4-nvswitch+8x400G-ib"},
    {"ext_h100_16gpu_", ""},
    {"ext_h200_128gpu", "nvlink4-nvswitch+16x200G-efa"},
    {"ext_h200_2node_2gpu_1nic", "1x400G-roce"},
    {"ext_h100_pcie_2gpu_nvlink_bridge", "nvlink4-bridge-pcie5"},
    {"ext_gh200_2node", "1x200G-slingshot"},
    {"ext_dgx_spark", "1x200G-roce"},
    {"ext_v100_pcie_2node", ""},
    {"ext_a100_40gb_16gpu_2node_oci", "nvlink3-nvswitch+16x100G-roce"},
    {"ext_a100_80gb_16gpu_2node_p4de", "nvlink3-nvswitch+4x100G-efa"},
    {"ext_a100_32gpu_4node_jz_opa", "nvlink3-alltoall+4x100G-opa"},
    {"ext_v100_64gpu_16node_jz_opa", "nvlink2-alltoall+4x100G-opa"},
    {"ext_32gpu_4node_stas", "nvlink3-nvswitch+4x200G-ib"},
    {"ext_a100_40gb_pcie_4gpu", "pcie4-x16-p2p-2s"},
    {"ext_a100_pcie_nvlink_2gpu_ncv4_graph", ""},
    {"ext_a100_pcie_nvlink_2gpu", "nvlink3-bridge-nv12-pcie4"},
    {"ext_a100_", "2x-nvlink3-pairs-nv12-pcie4"},
    {"ext_deepbench_m40_16", ""},
    {"ext_deepbench_m40_32", ""},
    {"ext_deepbench_p100_16", ""},
    {"ext_deepbench_titanx_16", ""},
    {"ext_deepbench_titanx_32", ""},
    {"ext_deepbench_titanx_pascal_16", ""},
    {"ext_deepbench_titanx_pascal_32", ""},
    {"ext_deepbench_1080ti_16", ""},
    {"ext_deepbench_1080ti_32", ""},
    {"ext_deepbench_1080ti_", "pcie3-x16-p2p-1s"},
    {"ext_deepbench_titanx_pascal_", "pcie3-x16-p2p-1s"},
    {"ext_deepbench_", "pcie3-x16-p2p-2s"},
    {"ext_sailor_rtx-2080_", "pcie3-x16-nop2p-1s"},
    {"ext_sailor_titan-rtx_", "pcie3-x16-nop2p-1s"},
    {"ext_sailor_rtx-3090_", "nvlink3-bridge-pcie4-nop2p"},
    {"ext_sailor_v100-16_2gpu", "nvlink2-bridge-nv3"},
    {"ext_sailor_v100-16_4gpu", "nvlink2-mesh"},
    {"ext_v100_32gb_4gpu_jz", "nvlink2-alltoall"},
    {"ext_sailor_gh-96_", "nvlink4-alltoall"},
    {"ext_vtrain_v100_", "nvlink2-mesh"},
    {"ext_v100_sxm2_8gpu", "nvlink2-mesh"},
    {"ext_rtx2080ti_2gpu_nvlink", "nvlink2-bridge-pcie3-nop2p"},
    {"ext_rtx4090_2gpu_nop2p_a", "pcie4-x16-nop2p"},
    {"ext_rtx4090_2gpu_nop2p_b", "pcie4-x16-nop2p-2s"},
    {"ext_rtx4090_4gpu_nop2p", "pcie4-x16-nop2p-2s"},
    {"ext_rtx4090_", "pcie4-x16-p2p-1s"},
    {"l40s_", "pcie4-x16-p2p-pxb"},
    {"rtx_pro_6000_", "pcie5-x16-p2p-pxb"},
    {"b60_", ""},
};

inline const SweepClass& class_of_sweep(std::string_view file) {
  for (const SweepClass& row : sweep_classes) {
    if (file.starts_with(row.begins)) return row;
  }
  FAIL("no class for " << file);
  return sweep_classes[0];
}

// GB/s of device memory, by the cards' data sheets, of sweeps that PyTorch timed from the host.
struct SweepMemory {
  std::string_view begins;
  double memory_GBps;
};
inline constexpr SweepMemory sweep_memories[] = {
    {"ext_sailor_a100-40_", 1555},
    {"ext_sailor_gh-96_", 4000},
    {"ext_sailor_v100-16_", 900},
    {"ext_sailor_rtx-3090_", 936},
    {"ext_sailor_titan-rtx_", 672},
    {"ext_sailor_rtx-2080_", 448},
};

struct PublicSweep {
  std::string file;
  std::string path;
  std::int64_t machines = 1;
  bool from_the_host = false;  // PyTorch's calls, timed one by one
  double memory_GBps = 0;      // where they are
};

inline std::vector<PublicSweep> public_sweeps() {
  const std::string folder = STEPSIGHT_SOURCE_DIR "/calibrate/measurements/imported/nccl/";
  const std::string index = read_file(folder + "INDEX.csv", megabyte, "an index");
  CsvTable table("INDEX.csv", index);
  const std::size_t file = table.column("file");
  const std::size_t nodes = table.column("nodes");
  const std::size_t method = table.column("method");
  std::vector<PublicSweep> out;
  while (table.next()) {
    PublicSweep sweep;
    sweep.file = table.text(file);
    sweep.path = folder + sweep.file;
    sweep.machines = table.integer(nodes, 1, 100000);
    sweep.from_the_host = table.text(method).find("host timer") != std::string_view::npos;
    for (const SweepMemory& row : sweep_memories) {
      if (sweep.file.starts_with(row.begins)) sweep.memory_GBps = row.memory_GBps;
    }
    if (sweep.from_the_host && sweep.memory_GBps == 0) FAIL("no memory's rate for " << sweep.file);
    out.push_back(std::move(sweep));
  }
  return out;
}

}  // namespace stepsight
