#include "simulate/link_faults.h"

namespace stepsight {

namespace {

std::optional<LinkClass> class_of_link(const Cluster& cluster) {
  if (cluster.facts && cluster.facts->link_class) return cluster.facts->link_class;
  if (cluster.facts && cluster.facts->measured) return cluster.facts->measured->link_class;
  return parse_link_class(cluster.link);
}

// The class without its measured limit and graph: a fault changes both.
LinkClass bare(LinkClass link) {
  link.busbw_GBps = 0;
  link.machine = nullptr;
  return link;
}

LinkClass over_pcie(LinkClass link, bool peers) {
  link.nvlink_shape = NvlinkShape::none;
  link.nvlink_generation = 0;
  link.nvlinks = 0;
  link.peer_to_peer = peers;
  return link;
}

class Faults {
 public:
  explicit Faults(LinkClass link) : link_(std::move(link)) {}

  void add(LinkFaultKind kind, std::string name, std::string action, const LinkClass& link) {
    LinkFacts facts;
    facts.name = "fault " + std::to_string(out_.size());
    facts.link_class = link;
    out_.push_back({kind,
                    std::move(name),
                    std::move(action),
                    std::make_shared<const LinkFacts>(std::move(facts))});
  }

  void inside() {
    const bool nvlink = link_.nvlink_shape != NvlinkShape::none;
    if (nvlink || link_.peer_to_peer) {
      add(LinkFaultKind::host_memory,
          nvlink ? "no NVLink, no P2P: through host memory" : "no P2P: through host memory",
          "run with NCCL_DEBUG=INFO: \"via SHM\" means no P2P; then look at `nvidia-smi topo -p2p "
          "r`, the "
          "IOMMU and PCIe access control (ACS), and NCCL_P2P_DISABLE",
          over_pcie(link_, false));
    }
    if (nvlink) {
      add(LinkFaultKind::no_nvlink,
          "NVLink is not used: P2P over PCIe",
          "`nvidia-smi nvlink -s` and `nvidia-smi topo -m`: is the bridge seated, are all its "
          "links up?",
          over_pcie(link_, true));
      return;
    }
    for (const int lanes : {8, 4, 1}) {
      if (lanes >= link_.pcie_lanes) continue;
      LinkClass slot = link_;
      slot.pcie_lanes = lanes;
      add(LinkFaultKind::few_lanes,
          "a card's slot has " + std::to_string(lanes) + (lanes == 1 ? " lane" : " lanes"),
          "`nvidia-smi -q | grep -A6 \"GPU Link Info\"` under load: lanes and generation of each "
          "card's slot",
          slot);
      if (lanes == 4 && slot.peer_to_peer) {
        slot.peer_to_peer = false;
        add(LinkFaultKind::few_lanes,
            "a slot of 4 lanes, and no P2P",
            "`nvidia-smi -q | grep -A6 \"GPU Link Info\"` under load, and NCCL_DEBUG=INFO for "
            "\"via SHM\"",
            slot);
      }
    }
  }

  void network() {
    const Fabric& fabric = link_.fabric;
    const bool rdma = fabric.kind != NetworkKind::tcp;
    if (rdma) {
      LinkClass tcp = link_;
      tcp.fabric.kind = NetworkKind::tcp;
      tcp.fabric.nics = 1;
      tcp.fabric.gpudirect = false;
      add(LinkFaultKind::sockets,
          "TCP over one adapter in place of RDMA",
          "NCCL_DEBUG=INFO: \"via NET/Socket\" means TCP; check `ibstat`, the plugin, and "
          "NCCL_IB_DISABLE and "
          "NCCL_SOCKET_IFNAME",
          tcp);
      if (fabric.gpudirect) {
        LinkClass host = link_;
        host.fabric.gpudirect = false;
        add(LinkFaultKind::no_gpudirect,
            "adapters without GPUDirect",
            "NCCL_DEBUG=INFO: \"GDRDMA\" must stand behind NET/IB; load nvidia_peermem, turn PCIe "
            "access "
            "control (ACS) off",
            host);
      }
    }
    if (fabric.nics > 1) {
      LinkClass one = link_;
      one.fabric.nics = 1;
      add(LinkFaultKind::one_adapter,
          "one network adapter in use of several",
          "NCCL_DEBUG=INFO lists the adapters in use; check NCCL_IB_HCA and that every port is up",
          one);
    }
    if (!(rdma && fabric.nics * fabric.nic_GBps < 0.2)) {
      LinkClass management = link_;
      management.fabric.kind = NetworkKind::tcp;
      management.fabric.nics = 1;
      management.fabric.nic_GBps = 0.125;
      management.fabric.gpudirect = false;
      if (fabric.nic_GBps > 0.2) {
        add(LinkFaultKind::management,
            "the 1 Gb/s management network is used",
            "set NCCL_SOCKET_IFNAME (and GLOO_SOCKET_IFNAME) to the fast interface",
            management);
      }
    }
  }

  std::vector<LinkFault> take() { return std::move(out_); }

 private:
  LinkClass link_;
  std::vector<LinkFault> out_;
};

}  // namespace

std::vector<LinkFault> link_faults(const Cluster& cluster) {
  const auto link = class_of_link(cluster);
  if (!link || cluster.gpus < 2) return {};
  Faults faults(bare(*link));
  if (cluster.nodes > 1) faults.network();
  if (cluster.gpus > cluster.nodes) faults.inside();
  return faults.take();
}

Scenario with_link(const Scenario& scenario, const LinkFault& fault) {
  Scenario out = scenario;
  out.cluster.link = fault.link->name;
  out.cluster.facts = fault.link;
  out.cluster.topo.clear();
  return out;
}

}  // namespace stepsight
