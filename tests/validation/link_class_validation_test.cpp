// What class values alone are worth on sweeps that they were not fitted to: the figure that
// scenarios/README.md states.
#include <map>
#include <set>

#include "model/io/builtin.h"
#include "model/io/csv.h"
#include "model/io/link_file.h"
#include "model/io/measurement_files.h"
#include "model/io/read_file.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

struct Share {
  int within = 0;
  int all = 0;
  void add(double ratio) {
    ++all;
    if (ratio < 1.5 && ratio > 1 / 1.5) ++within;
  }
  [[nodiscard]] double value() const { return static_cast<double>(within) / all; }
};

constexpr double from_bytes = 1048576;

// Points of one shipped link against its class.
Share share_of_link(const std::string& name) {
  const auto link = read_measured_link(name);
  REQUIRE(link);
  const std::string file = "links/" + name + ".points.csv";
  const auto text = builtin_file(file);
  REQUIRE(text);
  CsvTable table(file, *text);
  const std::size_t kind = table.column("kind");
  const std::size_t ranks = table.column("ranks");
  const std::size_t bytes = table.column("bytes");
  const std::size_t time = table.column("time_us");
  Share share;
  while (table.next()) {
    const double size = table.number(bytes, 1, 1e18);
    if (size < from_bytes) continue;
    const std::int64_t n = table.integer(ranks, 2, 1000000);
    const CollectiveGroup group{*parse_collective(table.text(kind)),
                                n,
                                (n + link->gpus_per_node - 1) / link->gpus_per_node};
    const double predicted =
        collective_formula(group.kind, n, size, class_parameters(link->link_class, group)).value;
    share.add(predicted * 1e6 / table.number(time, 0, 1e18));
  }
  return share;
}

}  // namespace

TEST_CASE("class values are within a factor of 1.5 for most points of 1 MiB and more") {
  Share all;
  for (const std::string& name : measured_link_names()) {
    const Share share = share_of_link(name);
    UNSCOPED_INFO(name << " " << share.within << " of " << share.all);
    all.within += share.within;
    all.all += share.all;
  }
  INFO("all: " << all.within << " of " << all.all);
  CHECK(all.all > 2000);
  CHECK(all.value() > 0.75);
}

TEST_CASE("sweeps that no link was fitted to agree with their class") {
  struct Row {
    const char* sweep;
    const char* link;
    std::int64_t ranks;
    std::int64_t nodes;
  };
  constexpr Row rows[] = {
      {"h200_sxm_nccl_2.29.2_8gpu", "nvlink4-nvswitch", 8, 1},
      {"nccl/ext_h100_8gpu_simumax_all_reduce", "nvlink4-nvswitch", 8, 1},
      {"nccl/ext_32gpu_4node_stas", "nvlink3-nvswitch+4x200G-ib", 32, 4},
      {"nccl/ext_a100_40gb_16gpu_2node_oci", "nvlink3-nvswitch+16x100G-roce", 16, 2},
      {"nccl/ext_h100_16gpu_2node_oci_b", "nvlink4-nvswitch+16x200G-roce", 16, 2},
      {"nccl/ext_rtx4090_6gpu_p2p_tinybox", "pcie4-x16-p2p-1s", 6, 1},
  };
  Share all;
  for (const Row& row : rows) {
    Measurements m;
    read_measurements(
        std::string(STEPSIGHT_SOURCE_DIR "/calibrate/measurements/imported/") + row.sweep + ".csv",
        m);
    REQUIRE_FALSE(m.collectives.empty());
    const LinkClass link = *parse_link_class(row.link);
    Share share;
    for (const CollectivePoint& p : m.collectives) {
      if (p.bytes < from_bytes) continue;
      CHECK(p.ranks == row.ranks);
      const auto by_class = class_parameters(link, {p.kind, p.ranks, row.nodes});
      share.add(collective_formula(p.kind, p.ranks, p.bytes, by_class).value * 1e6 / p.time_us);
    }
    UNSCOPED_INFO(row.sweep << " " << share.within << " of " << share.all);
    all.within += share.within;
    all.all += share.all;
  }
  INFO("all: " << all.within << " of " << all.all);
  CHECK(all.value() >= 0.9);
}

TEST_CASE("held-out sizes of measured links are predicted within a few percent") {
  // The median over curves of each curve's median error on sizes that its fit had not seen.
  std::vector<double> medians;
  for (const std::string& name : measured_link_names()) {
    const auto link = read_measured_link(name);
    for (std::size_t i = 0; i < link->curves.size(); ++i) {
      const FitQuality& q = link->quality[i];
      if (link->curves[i].kind == CollectiveKind::all_reduce && q.held_out_points > 0) {
        medians.push_back(q.held_out_median_error);
      }
    }
  }
  REQUIRE(medians.size() > 30);
  std::ranges::sort(medians);
  CHECK(medians[medians.size() / 2] < 0.02);
  CHECK(medians[medians.size() * 9 / 10] < 0.10);
}

namespace {

// What the sweeps in calibrate/measurements/imported/nccl were measured on, by the start of their
// names; the first row that fits. An empty class: the index does not say what decides (the
// network's rate), the machine was throttled on purpose (NCCL_GRAPH_FILE), or it has other wires
// (Intel).
struct SweepClass {
  std::string_view begins;
  std::string_view link;
  std::int64_t ranks_a_node = 0;  // 0: as the index has it
};
constexpr SweepClass sweep_classes[] = {
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

const SweepClass& class_of_sweep(std::string_view file) {
  for (const SweepClass& row : sweep_classes) {
    if (file.starts_with(row.begins)) return row;
  }
  FAIL("no class for " << file);
  return sweep_classes[0];
}

}  // namespace

TEST_CASE("class values are held against every public sweep whose machine is known") {
  const std::string folder = STEPSIGHT_SOURCE_DIR "/calibrate/measurements/imported/nccl/";
  const std::string index = read_file(folder + "INDEX.csv", megabyte, "an index");
  CsvTable table("INDEX.csv", index);
  const std::size_t file = table.column("file");
  const std::size_t nodes = table.column("nodes");
  std::map<std::string, Share> shares;  // by kind of machine and of timing
  int sweeps = 0;
  while (table.next()) {
    const std::string name(table.text(file));
    const std::int64_t machines = table.integer(nodes, 1, 100000);
    const SweepClass& row = class_of_sweep(name);
    if (row.link.empty()) continue;
    ++sweeps;
    INFO(name << " " << row.link);
    const auto link = parse_link_class(row.link);
    REQUIRE(link);
    Measurements m;
    read_measurements(folder + name, m);
    Share own;
    const bool torch = name.starts_with("ext_sailor_");
    for (const CollectivePoint& p : m.collectives) {
      if (p.bytes < from_bytes) continue;
      const std::int64_t n = row.ranks_a_node > 0 ? p.ranks / row.ranks_a_node : machines;
      const CollectiveGroup group{p.kind, p.ranks, n};
      const double ratio =
          collective_formula(p.kind, p.ranks, p.bytes, class_parameters(*link, group)).value * 1e6 /
          p.time_us;
      own.add(ratio);
      const std::string kind = n > 1                          ? "machines"
                               : row.link.starts_with("pcie") ? "PCIe"
                                                              : "NVLink";
      shares[kind + (torch ? ", timed from the host" : "")].add(ratio);
    }
    UNSCOPED_INFO(name << " " << own.within << " of " << own.all);
  }
  Share all;
  Share on_the_gpu;
  for (const auto& [kind, share] : shares) {
    UNSCOPED_INFO(kind << ": " << share.within << " of " << share.all);
    if (kind.find("host") == std::string::npos) {
      on_the_gpu.within += share.within;
      on_the_gpu.all += share.all;
    }
    all.within += share.within;
    all.all += share.all;
  }
  INFO("all: " << all.within << " of " << all.all << " points of " << sweeps << " sweeps");
  CHECK(sweeps == 159);
  // What scenarios/README.md states.
  CHECK(shares.at("NVLink").value() > 0.95);
  CHECK(shares.at("PCIe").value() > 0.78);
  CHECK(shares.at("PCIe, timed from the host").value() > 0.95);
  CHECK(shares.at("machines").value() > 0.8);
  CHECK(shares.at("NVLink, timed from the host").value() > 0.5);
  CHECK(all.value() > 0.8);
  // Timed from the host, a call's own cost counts too: 0.2 ms up to 16 MiB on NVLink.
  CHECK(on_the_gpu.value() > 0.9);
}
