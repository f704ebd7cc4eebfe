// Collectives: how many bytes a rank moves, and what a message costs on a measured link.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/measured_curve.h"
#include "model/parameters.h"
#include "model/units.h"

namespace stepsight {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  send_recv,  // every rank to its neighbour
};

// busbw = algbw x factor(n), as nccl-tests defines them (its doc/PERFORMANCE.md): the bytes that
// each rank must send for each byte of the message, so that busbw compares with the link's rate.
// The message is the whole array: all_gather's output, reduce_scatter's input.
struct CollectiveInfo {
  CollectiveKind kind;
  std::string_view name;       // also in profiles and on the command line
  std::string_view file_name;  // as sweeps write it
  double passes;               // factor = passes (n - 1) / n; 0: the factor is 1
};

inline constexpr std::array<CollectiveInfo, 5> collectives{{
    {CollectiveKind::all_reduce, "all_reduce", "all_reduce", 2},
    {CollectiveKind::all_gather, "all_gather", "all_gather", 1},
    {CollectiveKind::reduce_scatter, "reduce_scatter", "reduce_scatter", 1},
    {CollectiveKind::all_to_all, "all_to_all", "alltoall", 1},
    {CollectiveKind::send_recv, "send_recv", "sendrecv", 0},
}};

constexpr const CollectiveInfo& info(CollectiveKind kind) {
  return collectives[static_cast<std::size_t>(kind)];
}

constexpr std::optional<CollectiveKind> parse_collective(std::string_view name) {
  for (const CollectiveInfo& row : collectives) {
    if (row.name == name || row.file_name == name) return row.kind;
  }
  return std::nullopt;
}

// Bytes a rank sends for each byte of the message: 2 (n - 1) / n for a ring all-reduce, 0 for n
// = 1.
constexpr double traffic_factor(CollectiveKind kind, std::int64_t ranks) {
  if (ranks <= 1) return 0;
  if (info(kind).passes == 0) return 1;
  const auto n = static_cast<double>(ranks);
  return info(kind).passes * (n - 1) / n;
}

// latency + ramp x sqrt(message / 1 MB) + message x factor / busbw: the latency of the smallest
// message, the bandwidth of the largest, and between the two the protocols' and channels' ramp.
// Monotone in the message and continuous for any parameters within their bounds.
template <typename T>
SecondsOf<T> collective_formula(CollectiveKind kind,
                                std::int64_t ranks,
                                double message_bytes,
                                const CollectiveParameters<T>& p) {
  const double wire = message_bytes * traffic_factor(kind, ranks);
  return SecondsOf<T>{p.latency_us * 1e-6 + p.ramp_us * 1e-6 * std::sqrt(message_bytes / 1e6) +
                      wire / (p.busbw_GBps * 1e9)};
}

// One collective on one link for one number of ranks, as measured.
struct CollectiveCurve {
  std::string link;
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t ranks = 0;
  CollectiveParameters<double> parameters;
  MeasuredCurve points;  // over the message's bytes
  std::string source;
};

// Time of a message on a curve.
struct CollectiveCost {
  Seconds time;
  bool measured = false;
};
CollectiveCost cost(const CollectiveCurve& curve, Bytes message);

}  // namespace stepsight
