// What class values alone are worth on sweeps that they were not fitted to: the figure that
// scenarios/README.md states.
#include <map>
#include <set>

#include "model/io/builtin.h"
#include "model/io/csv.h"
#include "model/io/link_file.h"
#include "model/io/measurement_files.h"
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
