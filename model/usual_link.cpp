#include "model/usual_link.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stepsight {

namespace {

struct CardWires {
  std::string_view prefix;  // of the profile's name
  int nvlink;               // generation; 0 without
  int pcie;
  bool peer_to_peer;        // over PCIe
};

// The first row whose prefix fits; NVIDIA's data sheets and driver notes.
constexpr std::array<CardWires, 31> cards{{
    {"p100", 1, 3, true},         {"gtx-10", 0, 3, true},       {"t4", 0, 3, true},
    {"v100", 2, 3, true},         {"titan-rtx", 2, 3, false},   {"rtx-20", 2, 3, false},
    {"quadro-rtx", 2, 3, true},   {"a100", 3, 4, true},         {"a800", 3, 4, true},
    {"a30", 3, 4, true},          {"a40", 3, 4, true},          {"a10", 0, 4, true},
    {"rtx-a4000", 0, 4, true},    {"rtx-a", 3, 4, true},        {"rtx-3090", 3, 4, false},
    {"rtx-30", 0, 4, false},      {"rtx-40", 0, 4, false},      {"rtx-5880", 0, 4, true},
    {"rtx-6000-ada", 0, 4, true}, {"rtx-50", 0, 5, false},      {"rtx-pro", 0, 5, true},
    {"l4", 0, 4, true},           {"h100", 4, 5, true},         {"h200", 4, 5, true},
    {"h800", 4, 5, true},         {"h20", 4, 5, true},          {"gh200", 4, 5, true},
    {"b200", 5, 5, true},         {"b300", 5, 5, true},         {"gb", 5, 5, true},
    {"", 0, 4, true},
}};

const CardWires& wires_of(std::string_view card) {
  for (const CardWires& row : cards) {
    if (card.starts_with(row.prefix)) return row;
  }
  return cards.back();
}

std::string slot(const CardWires& wires) {
  return "pcie" + std::to_string(wires.pcie) + "-x16-" + (wires.peer_to_peer ? "p2p" : "nop2p");
}

}  // namespace

std::string usual_link(std::string_view card, std::string_view kind, double network_Gbps) {
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
    name += "+8x" + std::to_string(std::lround(std::max(1.0, network_Gbps / 8))) + "G-ib";
  }
  return name;
}

}  // namespace stepsight
