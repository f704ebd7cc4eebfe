// Links as files: links/NAME.toml says what was measured of one class of machine, NAME.points.csv
// holds the measured points that lie over its curves (kind,ranks,bytes,time_us,log_residual).
//
//   schema = 1
//   title = "8x A100 SXM on an NVSwitch board"
//   class = "nvlink3-nvswitch"      # model/link_class.h: for group sizes that nobody measured
//   gpus_per_node = 8
//   sources = ["a100_sxm_nccl_2.27.3_8gpu.csv"]
//   [all_reduce.8]                  # kind and number of ranks
//   latency_us = 21.3
//   ramp_us = 11.4
//   busbw_GBps = 230
//   sd = [0.5, 0.8, 3]              # of the three
//   points = 15                     # that it was fitted to; held_out and the errors are of others
//   held_out = 4
//   formula_median = 0.04
//   held_out_median = 0.03
//   held_out_p90 = 0.09
//   source = "a100_sxm_nccl_2.27.3_8gpu.csv"
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/io/topology_table.h"
#include "model/link_curve.h"
#include "model/point_row.h"

namespace stepsight {

// A measured link by name or path; nothing when there is no such file. UserError with every
// mistake.
std::optional<MeasuredLink> read_measured_link(const std::string& name);
// The .toml alone, without the points.
MeasuredLink read_measured_link_text(const std::string& path, std::string_view text);

// What a link's name and a file of `nvidia-smi topo -m` text (may be empty) stand for. A name that
// is neither a measured link nor a class gives facts that are empty: the GPU's profile may have it.
// UserError when the topology file is bad, or is given with a name that is no class.
std::shared_ptr<const LinkFacts> find_link(const std::string& name, const std::string& topo_file);

// The same with [cluster.topology] of a scenario.
std::shared_ptr<const LinkFacts> find_link(const std::string& name, const TopologyTable& table);

// Every measured link there is, by name.
std::vector<std::string> measured_link_names();

// The two files' texts. `records` are the fit's, for the standard deviations.
std::string measured_link_text(const MeasuredLink& link, std::span<const ParameterRecord> records);
std::string measured_link_points_text(std::span<const PointRow> points);

}  // namespace stepsight
