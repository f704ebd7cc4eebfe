// Logs and matrices that people paste, damaged at random: a partial import or a UserError, numbers
// finite and positive; never a crash or another exception. Seeds are fixed.
#include <array>
#include <cmath>
#include <random>
#include <string>

#include "model/errors.h"
#include "model/io/nccl_log.h"
#include "model/io/scenario_file.h"
#include "model/io/topo_matrix.h"
#include "model/link_curve.h"
#include "model/transport.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

const std::string log_text = R"(# Collective test starting: all_reduce_perf
#  Rank  0 Group  0 Pid  41001 on      gpu-a device  0 [0000:01:00] NVIDIA GeForce RTX 4090
#  Rank  1 Group  0 Pid  41001 on      gpu-a device  1 [0000:21:00] NVIDIA GeForce RTX 4090
#       size         count      type   redop    root     time   algbw   busbw  #wrong
     1048576        262144     float     sum      -1    283.1    3.70    3.70       0
     8388608       2097152     float     sum      -1   1712.4    4.90    4.90       0
)";

const std::string matrix_text =
    R"(        GPU0    GPU1    GPU2    GPU3    NIC0    CPU Affinity    NUMA Affinity
GPU0     X      PHB     NV4     NODE    SYS     0-23    0
GPU1    PHB      X      NODE    NV4     SYS     0-23    0
GPU2    NV4     NODE     X      PHB     PHB     24-47   1
GPU3    NODE    NV4     PHB      X      PHB     24-47   1
)";

const std::string table_text = R"([model]
name = "gpt2-124m"
[cluster]
gpu = "h200-sxm"
gpus = 8
nodes = 4
link = "pcie4-x16-p2p"
[cluster.topology]
machines_per_leaf = 2
edges = [
  { from = "gpu0-1", to = "switch0-1" },
  { from = "switch0-1", to = "socket0" },
  { from = "gpu0", to = "gpu1", wire = "nv4" },
  { from = "nic0-1", to = "switch0-1" },
  { from = "nic0-1", to = "leaf0-1", wire = "200G-ib" },
  { from = "leaf0-1", to = "spine0", oversubscription = 4 },
]
)";

std::string damaged(const std::string& text, std::mt19937& random) {
  constexpr std::array<std::string_view, 14> nasty{"nan",
                                                   "inf",
                                                   "-1",
                                                   "0",
                                                   "1e999",
                                                   "NV99",
                                                   "X",
                                                   "\t",
                                                   "\n",
                                                   "GPU1000",
                                                   "\x1b[",
                                                   "\xff",
                                                   "SYS",
                                                   "9223372036854775808"};
  std::string out = text;
  const std::size_t strokes = 1 + random() % 4;
  for (std::size_t i = 0; i < strokes && !out.empty(); ++i) {
    const std::size_t at = random() % out.size();
    switch (random() % 4) {
      case 0:
        out.erase(at, 1 + random() % 20);
        break;
      case 1:
        out.insert(at, nasty[random() % nasty.size()]);
        break;
      case 2:
        out[at] = static_cast<char>(random() % 256);
        break;
      default:
        out.resize(at);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("damaged logs of collective tests give sound rows or a message") {
  std::mt19937 random(4);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = damaged(log_text, random);
    INFO(text);
    try {
      const CollectiveLog log = read_collective_log("all_reduce.log", text);
      ++read;
      REQUIRE(log.ranks >= 2);
      for (const CollectiveLogRow& row : log.rows) {
        REQUIRE((std::isfinite(row.bytes) && row.bytes > 0));
        REQUIRE((std::isfinite(row.time_us) && row.time_us > 0));
        REQUIRE(std::isfinite(row.busbw_GBps));
      }
    } catch (const UserError&) {
    }
  }
  CHECK(read > 5000);  // most damage leaves something to read
}

TEST_CASE("damaged topologies give a machine whose GPUs are connected, or a message") {
  const LinkClass link = *parse_link_class("pcie4-x16-nop2p");
  std::mt19937 random(5);
  int read = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::string text = damaged(matrix_text, random);
    INFO(text);
    try {
      const Topology t = topo_matrix_topology("topo.txt", text, link);
      ++read;
      if (t.gpus >= 2) REQUIRE(best_rings(t, t.gpus).GBps > 0);
    } catch (const UserError&) {
    }
  }
  CHECK(read > 200);
}

TEST_CASE("megabytes of noise are refused") {
  std::mt19937 random(6);
  std::string noise(20 * 1000 * 1000, ' ');
  for (char& c : noise) c = static_cast<char>(random() % 96 + 32);
  for (std::size_t i = 0; i < noise.size(); i += 80) noise[i] = '\n';
  CHECK_THROWS_AS(read_collective_log("all_reduce.log", noise), UserError);
  CHECK_THROWS_AS(topo_matrix_topology("topo.txt", noise, LinkClass{}), UserError);
}

TEST_CASE("damaged topology tables give a machine with finite rates or a message") {
  std::mt19937 random(6);
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = damaged(table_text, random);
    INFO(text);
    try {
      for (const Scenario& s : read_scenario_text("s.toml", text).points) {
        if (!s.cluster.facts || s.cluster.gpus < 2 || s.cluster.gpus % s.cluster.nodes != 0)
          continue;
        const auto found = link_curve(
            *s.cluster.facts, {CollectiveKind::all_reduce, s.cluster.gpus, s.cluster.nodes});
        if (!found) continue;
        const double rate = found->curve.parameters.busbw_GBps;
        CHECK((std::isfinite(rate) && rate > 0));
        ++read;
      }
    } catch (const UserError&) {
    }
  }
  CHECK(read > 15);  // most damage ends the file or breaks its syntax
}
