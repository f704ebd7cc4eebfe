#include "model/link_verdict.h"

#include <algorithm>
#include <cmath>

#include "model/errors.h"

namespace stepsight {

namespace {

constexpr double broken_below = 0.4;

double busbw_of(const CollectiveCurve& curve, double bytes) {
  return bytes * traffic_factor(curve.kind, curve.ranks) / cost(curve, Bytes{bytes}).time.value /
         1e9;
}

// A fault that a machine of the class may have: what the class becomes, and what to look at.
struct Fault {
  LinkClass link;
  std::string cause;
};

template <typename Change>
void add_fault(std::vector<Fault>& out,
               const LinkClass& healthy,
               std::string cause,
               Change change) {
  LinkClass link = healthy;
  link.machine.reset();
  change(link);
  out.push_back({std::move(link), std::move(cause)});
}

std::vector<Fault> network_faults(const LinkClass& healthy) {
  std::vector<Fault> out;
  if (healthy.fabric.kind == NetworkKind::tcp) return out;
  add_fault(
      out,
      healthy,
      "as without GPUDirect RDMA: nvidia-peermem not loaded, ACS on, or a virtual machine that "
      "hides which adapter is near",
      [](LinkClass& l) { l.fabric.gpudirect = false; });
  add_fault(out,
            healthy,
            "as over TCP: RDMA is not used (NCCL_IB_DISABLE, no plugin for EFA, wrong NCCL_IB_HCA)",
            [](LinkClass& l) { l.fabric.kind = NetworkKind::tcp; });
  add_fault(out,
            healthy,
            "as with one adapter: NCCL_IB_HCA or the container shows it one only",
            [](LinkClass& l) { l.fabric.nics = 1; });
  return out;
}

std::vector<Fault> nvlink_faults(const LinkClass& healthy) {
  std::vector<Fault> out;
  for (const int part : {2, 4}) {
    add_fault(out,
              healthy,
              "as with one in " + std::to_string(part) +
                  " NVLinks up: `nvidia-smi nvlink -s` shows which are down, NCCL_GRAPH_FILE may "
                  "cap them",
              [part](LinkClass& l) {
                l.nvlinks = std::max(1, (l.nvlinks > 0 ? l.nvlinks : usual_nvlinks(l)) / part);
              });
  }
  add_fault(out,
            healthy,
            "NVLink is not used: look at `nvidia-smi nvlink -s` and NCCL_P2P_DISABLE",
            [](LinkClass& l) { l.nvlink_shape = NvlinkShape::none; });
  return out;
}

std::vector<Fault> pcie_faults(const LinkClass& healthy) {
  std::vector<Fault> out;
  if (healthy.peer_to_peer) {
    add_fault(
        out,
        healthy,
        "as without P2P, through host memory: a driver that blocks it (GeForce), IOMMU or ACS "
        "on, NCCL_P2P_DISABLE, or a container without it",
        [](LinkClass& l) { l.peer_to_peer = false; });
  }
  if (healthy.peer_to_peer && healthy.reach == PeerReach::anywhere) {
    add_fault(out,
              healthy,
              "as with P2P behind PCIe switches only, NCCL's default for more than two cards: "
              "NCCL_P2P_LEVEL=SYS, where the machine bears it",
              [](LinkClass& l) { l.reach = PeerReach::pcie_switch; });
  }
  for (const int lanes : {8, 4, 1}) {
    if (lanes >= healthy.pcie_lanes) continue;
    add_fault(out,
              healthy,
              "as a slot with x" + std::to_string(lanes) +
                  ": compare Link Width Current with Max in `nvidia-smi -q` while the card works",
              [lanes](LinkClass& l) { l.pcie_lanes = lanes; });
  }
  if (healthy.sockets != 2) {
    add_fault(out,
              healthy,
              "as across two sockets: `nvidia-smi topo -m` shows SYS between the cards",
              [](LinkClass& l) { l.sockets = 2; });
  }
  return out;
}

// Between machines the network is the first suspect, inside one what joins its cards.
std::vector<Fault> faults_of(const LinkClass& healthy, std::int64_t nodes) {
  if (nodes > 1) return network_faults(healthy);
  return healthy.nvlink_shape == NvlinkShape::none ? pcie_faults(healthy) : nvlink_faults(healthy);
}

bool any_starts_with(std::span<const std::string> transports, std::string_view start) {
  return std::ranges::any_of(transports,
                             [&](const std::string& t) { return t.starts_with(start); });
}

// What the log itself says comes before what figures suggest.
void causes_from_log(const LinkClass& link,
                     std::span<const std::string> transports,
                     std::vector<std::string>& causes) {
  if (any_starts_with(transports, "NET/Socket") && link.fabric.kind != NetworkKind::tcp &&
      link.fabric.kind != NetworkKind::none) {
    causes.emplace_back("the log says NET/Socket: the network is TCP, not RDMA");
  }
  if (any_starts_with(transports, "SHM") && link.peer_to_peer) {
    causes.emplace_back(
        "the log says SHM: pairs go through host memory. P2P is off for them: a driver that blocks "
        "it "
        "(GeForce), IOMMU or ACS on, NCCL_P2P_DISABLE, or a container without it");
  }
}

void causes_from_figures(const LinkClass& link,
                         const CollectiveGroup& group,
                         double ratio,
                         std::vector<std::string>& causes) {
  // Compared as classes: the ratio between healthy and faulty, not their own values.
  const double healthy = class_parameters(link, group).busbw_GBps;
  std::vector<std::pair<double, std::string>> likely;
  for (const Fault& fault : faults_of(link, group.nodes)) {
    const double faulty = class_parameters(fault.link, group).busbw_GBps / healthy;
    const double off = std::abs(std::log(faulty / ratio));
    if (faulty < 0.9 && off < std::log(1.5)) likely.emplace_back(off, fault.cause);
  }
  std::ranges::stable_sort(likely, {}, &std::pair<double, std::string>::first);
  for (std::size_t i = 0; i < std::min<std::size_t>(likely.size(), 3); ++i) {
    causes.push_back(likely[i].second);
  }
}

LinkHealth health_of(double ratio, CurveOrigin origin) {
  const double margin = origin == CurveOrigin::measured ? 0.25 : link_class_spread;
  if (ratio < broken_below) return LinkHealth::broken;
  if (ratio < 1 - margin) return LinkHealth::low;
  return ratio > 1 + margin ? LinkHealth::fast : LinkHealth::fine;
}

}  // namespace

LinkVerdict judge_link(const LinkFacts& link,
                       const CollectiveGroup& group,
                       std::span<const MeasuredBusbw> points,
                       std::span<const std::string> transports) {
  const auto expected = link_curve(link, group);
  if (!expected) {
    throw UserError("'" + link.name + "' is neither a measured link nor a link class");
  }
  LinkVerdict out;
  out.origin = expected->origin;
  for (const MeasuredBusbw& p : points) {
    out.rows.push_back({p.bytes, p.busbw_GBps, busbw_of(expected->curve, p.bytes)});
  }
  std::ranges::sort(out.rows, {}, &LinkComparison::bytes);
  // The upper third of the sizes, at least one: where bandwidth, not latency, decides.
  const std::size_t count = std::max<std::size_t>(1, out.rows.size() / 3);
  double sum = 0;
  for (auto row = out.rows.end() - static_cast<std::ptrdiff_t>(count); row != out.rows.end();
       ++row) {
    sum += std::log(row->measured_GBps / row->expected_GBps);
  }
  out.ratio = std::exp(sum / static_cast<double>(count));
  constexpr double small = 65536;
  if (out.rows.front().bytes <= small) {
    out.latency_ratio = out.rows.front().expected_GBps / out.rows.front().measured_GBps;
  }
  out.health = health_of(out.ratio, out.origin);
  const LinkClass* by_class = link.link_class ? &*link.link_class
                              : link.measured ? &link.measured->link_class
                                              : nullptr;
  const bool slow = out.health == LinkHealth::low || out.health == LinkHealth::broken;
  if (slow && by_class != nullptr) {
    causes_from_log(*by_class, transports, out.causes);
    if (out.causes.empty()) causes_from_figures(*by_class, group, out.ratio, out.causes);
  }
  if (out.latency_ratio > 4) {
    out.causes.emplace_back(
        "small messages are slow, too: TCP, a busy or virtual CPU, or the host's time in the "
        "figures");
  }
  return out;
}

std::string_view describe(LinkHealth health) {
  switch (health) {
    case LinkHealth::fine:
      return "fine";
    case LinkHealth::fast:
      return "faster than expected";
    case LinkHealth::low:
      return "low";
    case LinkHealth::broken:
      break;
  }
  return "broken";
}

}  // namespace stepsight
