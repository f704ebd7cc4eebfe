#include "model/usual_link.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace stepsight {

namespace {

// P2P over PCIe: by the card and its driver; and how far NCCL let it reach on the hosts and in the
// versions of the card's time (model/topology.h): Intel hosts with PCIe 3, AMD's with Ampere, and
// behind switches only since.
enum class Peers : std::uint8_t { none, bridge, any, switch_only };

struct CardWires {
  std::string_view prefix;  // of the profile's name
  int nvlink;               // generation; 0 without
  int pcie;
  Peers peers;
};

// The first row whose prefix fits; NVIDIA's data sheets and driver notes.
constexpr std::array<CardWires, 31> cards{{
    // clang-format off
    {"p100", 1, 3, Peers::bridge},
    {"gtx-10", 0, 3, Peers::bridge},
    {"t4", 0, 3, Peers::bridge},
    {"v100", 2, 3, Peers::bridge},
    {"titan-rtx", 2, 3, Peers::none},
    {"rtx-20", 2, 3, Peers::none},
    {"quadro-rtx", 2, 3, Peers::bridge},
    {"a100", 3, 4, Peers::any},
    {"a800", 3, 4, Peers::any},
    {"a30", 3, 4, Peers::any},
    {"a40", 3, 4, Peers::any},
    {"a10", 0, 4, Peers::any},
    {"rtx-a4000", 0, 4, Peers::any},
    {"rtx-a", 3, 4, Peers::any},
    {"rtx-3090", 3, 4, Peers::none},
    {"rtx-30", 0, 4, Peers::none},
    {"rtx-40", 0, 4, Peers::none},
    {"rtx-5880", 0, 4, Peers::switch_only},
    {"rtx-6000-ada", 0, 4, Peers::switch_only},
    {"rtx-50", 0, 5, Peers::none},
    {"rtx-pro", 0, 5, Peers::switch_only},
    {"l4", 0, 4, Peers::switch_only},
    {"h100", 4, 5, Peers::switch_only},
    {"h200", 4, 5, Peers::switch_only},
    {"h800", 4, 5, Peers::switch_only},
    {"h20", 4, 5, Peers::switch_only},
    {"gh200", 4, 5, Peers::switch_only},
    {"b200", 5, 5, Peers::switch_only},
    {"b300", 5, 5, Peers::switch_only},
    {"gb", 5, 5, Peers::switch_only},
    {"", 0, 4, Peers::switch_only},
    // clang-format on
}};

const CardWires& wires_of(std::string_view card) {
  for (const CardWires& row : cards) {
    if (card.starts_with(row.prefix)) return row;
  }
  return cards.back();
}

std::string slot(const CardWires& wires) {
  constexpr std::array<std::string_view, 4> words{"nop2p", "p2p-phb", "p2p", "p2p-pxb"};
  return "pcie" + std::to_string(wires.pcie) + "-x16-" +
         std::string(words[static_cast<std::size_t>(wires.peers)]);
}

}  // namespace

std::string usual_link(std::string_view card,
                       std::string_view kind,
                       double network_Gbps,
                       int adapters,
                       std::string_view network) {
  const CardWires& wires = wires_of(card);
  const std::string nvlink = "nvlink" + std::to_string(wires.nvlink);
  std::string name;
  // A card on an SXM board has NVLink whatever a table calls its slot.
  if (kind == "pcie" && wires.nvlink > 0 && card.find("-sxm") != std::string_view::npos) {
    kind = "nvlink-mesh";
  }
  if (kind == "pcie" || (wires.nvlink == 0 && kind.starts_with("nv"))) {
    name = slot(wires);
  } else if (kind == "nvlink-pairs") {
    name = nvlink + "-bridge-" + slot(wires);
  } else if (kind == "nvlink-mesh" && wires.nvlink <= 2) {
    name = nvlink + "-mesh";
  } else if (kind == "nvswitch" || kind == "nvlink-mesh") {
    // Boards of eight from NVLink 3 on have a switch, whatever a table calls them.
    name = nvlink + "-nvswitch";
  } else {
    return std::string(kind);
  }
  if (network_Gbps > 0) {
    const long each = std::lround(std::max(1.0, network_Gbps / adapters));
    name +=
        "+" + std::to_string(adapters) + "x" + std::to_string(each) + "G-" + std::string(network);
  }
  return name;
}

}  // namespace stepsight
