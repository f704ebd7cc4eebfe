// What class values alone are worth on sweeps that they were not fitted to: the figure that
// scenarios/README.md states.
#include <algorithm>
#include <map>
#include <vector>

#include "model/io/builtin.h"
#include "model/io/csv.h"
#include "model/io/link_file.h"
#include "model/io/measurement_files.h"
#include "model/io/read_file.h"
#include "model/timed_call.h"
#include "tests/catch2.h"
#include "tests/validation/public_sweeps.h"

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

// A point with what a class says of it.
struct ClassPoint {
  CollectivePoint measured;
  Seconds by_class;
  std::int64_t machines = 1;
};

std::vector<ClassPoint> class_points(const PublicSweep& sweep, const SweepClass& row) {
  Measurements m;
  read_measurements(sweep.path, m);
  const LinkClass link = *parse_link_class(row.link);
  std::vector<ClassPoint> out;
  for (const CollectivePoint& p : m.collectives) {
    if (p.bytes < from_bytes) continue;
    const std::int64_t n = row.ranks_a_node > 0 ? p.ranks / row.ranks_a_node : sweep.machines;
    const CollectiveParameters<double> by_class = class_parameters(link, {p.kind, p.ranks, n});
    out.push_back({p, collective_formula(p.kind, p.ranks, p.bytes, by_class), n});
  }
  return out;
}

std::string card_of(const PublicSweep& sweep) {
  const std::string_view name =
      std::string_view(sweep.file).substr(std::string_view("ext_sailor_").size());
  return std::string(name.substr(0, name.find('_')));
}

// The median; of an even number the mean of the two in the middle.
double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// What is left of small messages' times, in us, without collective and copies: the middle of a
// sweep.
double left_to_host(const PublicSweep& sweep, const std::vector<ClassPoint>& points) {
  std::vector<double> left;
  for (const auto& [p, by_class, machines] : points) {
    if (p.bytes > 8 * from_bytes) continue;
    const Seconds copies = list_copies(p.kind, Bytes{p.bytes}, copy_rate(sweep.memory_GBps));
    left.push_back(p.time_us - (by_class + copies).value * 1e6);
  }
  return middle(std::move(left));
}

}  // namespace

TEST_CASE("class values are held against every public sweep whose machine is known") {
  struct Machine {
    PublicSweep sweep;
    std::vector<ClassPoint> points;
    std::string kind;
  };
  std::vector<Machine> machines;
  // By card, then by collective: what its sweeps on NVLink say of the host's part.
  std::map<std::string, std::map<CollectiveKind, std::vector<double>>> hosts;
  for (const PublicSweep& sweep : public_sweeps()) {
    const SweepClass& row = class_of_sweep(sweep.file);
    if (row.link.empty()) continue;
    INFO(sweep.file << " " << row.link);
    REQUIRE(parse_link_class(row.link));
    Machine m{sweep, class_points(sweep, row), "NVLink"};
    if (row.link.starts_with("pcie")) m.kind = "PCIe";
    if (!m.points.empty() && m.points.front().machines > 1) m.kind = "machines";
    if (sweep.from_the_host && m.kind == "NVLink" && !m.points.empty()) {
      hosts[card_of(sweep)][m.points.front().measured.kind].push_back(
          left_to_host(sweep, m.points));
    }
    machines.push_back(std::move(m));
  }
  // The host's part as the sweeps of the other cards have it: nothing is judged that it was learnt
  // from.
  const auto host_us = [&](CollectiveKind kind, const std::string& without) {
    std::vector<double> left;
    for (const auto& [card, kinds] : hosts) {
      if (card == without) continue;
      left.insert(left.end(), kinds.at(kind).begin(), kinds.at(kind).end());
    }
    return middle(std::move(left));
  };

  std::map<std::string, Share> shares;  // by kind of machine and of timing
  Share all;
  Share on_the_gpu;
  for (const auto& [sweep, points, kind] : machines) {
    Share own;
    for (const auto& [p, by_class, nodes] : points) {
      double predicted_us = by_class.value * 1e6;
      if (sweep.from_the_host) {
        predicted_us +=
            list_copies(p.kind, Bytes{p.bytes}, copy_rate(sweep.memory_GBps)).value * 1e6;
        predicted_us += host_us(p.kind, card_of(sweep));
      } else {
        on_the_gpu.add(predicted_us / p.time_us);
      }
      own.add(predicted_us / p.time_us);
      all.add(predicted_us / p.time_us);
      shares[kind + (sweep.from_the_host ? ", timed from the host" : "")].add(predicted_us /
                                                                              p.time_us);
    }
    UNSCOPED_INFO(sweep.file << " " << own.within << " of " << own.all);
  }
  for (const auto& [kind, share] : shares)
    UNSCOPED_INFO(kind << ": " << share.within << " of " << share.all);
  INFO("all: " << all.within << " of " << all.all << " points of " << machines.size() << " sweeps");
  CHECK(machines.size() == 159);
  // What scenarios/README.md states.
  CHECK(shares.at("NVLink").value() > 0.95);
  CHECK(shares.at("PCIe").value() > 0.83);
  CHECK(shares.at("PCIe, timed from the host").value() > 0.98);
  CHECK(shares.at("machines").value() > 0.8);
  CHECK(shares.at("NVLink, timed from the host").value() > 0.82);
  CHECK(on_the_gpu.value() > 0.92);
  CHECK(all.value() >= 0.9);
  // The shipped figures are those of all cards.
  for (const TimedCall& call : timed_calls) {
    if (call.kind == CollectiveKind::send_recv) continue;
    INFO(info(call.kind).name);
    CHECK(call.host_us == Approx(host_us(call.kind, "")).margin(1));
  }
}
