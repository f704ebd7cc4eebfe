// The words of a link's name (model/link_class.h).
#include <array>
#include <charconv>
#include <vector>

#include "model/link_class.h"

namespace stepsight {

namespace {

std::optional<double> whole_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value > 0) || value > 1e6) {
    return std::nullopt;
  }
  return value;
}

// "x16" after "x", "nvlink3" after "nvlink": the number behind a word, within its bounds.
std::optional<int> numbered(std::string_view word, std::string_view stem, int least, int most) {
  if (!word.starts_with(stem)) return std::nullopt;
  const auto value = whole_number(word.substr(stem.size()));
  if (!value || *value != static_cast<int>(*value) || *value < least || *value > most) {
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t end = name.find('-');
    words.push_back(name.substr(0, end));
    if (end == std::string_view::npos) return words;
    name.remove_prefix(end + 1);
  }
}

bool read_machine_word(std::string_view word, LinkClass& link) {
  struct Word {
    std::string_view word;
    void (*set)(LinkClass&);
  };
  static constexpr std::array<Word, 15> words{{
      {"nvlink", [](LinkClass& l) { l.nvlink_generation = 3; }},
      {"nvswitch", [](LinkClass& l) { l.nvlink_shape = NvlinkShape::nvswitch; }},
      {"mesh", [](LinkClass& l) { l.nvlink_shape = NvlinkShape::mesh; }},
      {"alltoall", [](LinkClass& l) { l.nvlink_shape = NvlinkShape::all_to_all; }},
      {"bridge", [](LinkClass& l) { l.nvlink_shape = NvlinkShape::pairs; }},
      {"pairs", [](LinkClass& l) { l.nvlink_shape = NvlinkShape::pairs; }},
      {"pcie", [](LinkClass&) {}},
      {"p2p", [](LinkClass& l) { l.peer_to_peer = true; }},
      {"nop2p", [](LinkClass& l) { l.peer_to_peer = false; }},
      {"pxb", [](LinkClass& l) { l.reach = PeerReach::pcie_switch; }},
      {"phb", [](LinkClass& l) { l.reach = PeerReach::host_bridge; }},
      {"1s", [](LinkClass& l) { l.sockets = 1; }},
      {"2s", [](LinkClass& l) { l.sockets = 2; }},
      {"switch", [](LinkClass& l) { l.pcie_switches = true; }},
      {"nvl72",
       [](LinkClass& l) {
         l.nvlink_shape = NvlinkShape::nvswitch;
         l.domain = 72;
       }},
  }};
  for (const Word& known : words) {
    if (known.word != word) continue;
    known.set(link);
    return true;
  }
  if (const auto generation = numbered(word, "nvlink", 1, 5)) {
    link.nvlink_generation = *generation;
  } else if (const auto links = numbered(word, "nv", 1, 18)) {
    link.nvlinks = *links;
  } else if (const auto pcie = numbered(word, "pcie", 1, 6)) {
    link.pcie_generation = *pcie;
  } else if (const auto lanes = numbered(word, "x", 1, 16)) {
    link.pcie_lanes = *lanes;
  } else {
    // "2x" of "2x-nvlink-pairs": how many; the number of GPUs says the same.
    return word.size() > 1 && word.ends_with('x') &&
           whole_number(word.substr(0, word.size() - 1)).has_value();
  }
  return true;
}

// "8x400G": adapters and their rate in Gb/s.
bool read_adapters(std::string_view word, Fabric& fabric) {
  if (!word.ends_with('G')) return false;
  word.remove_suffix(1);
  const std::size_t by = word.find('x');
  const auto count =
      by == std::string_view::npos ? std::optional<double>(1) : whole_number(word.substr(0, by));
  const auto rate = whole_number(by == std::string_view::npos ? word : word.substr(by + 1));
  if (!count || !rate) return false;
  fabric.nics = *count;
  fabric.nic_GBps = *rate / 8;
  return true;
}

bool read_network_word(std::string_view word, Fabric& fabric) {
  constexpr std::array<std::pair<std::string_view, NetworkKind>, 9> kinds{
      {{"ib", NetworkKind::infiniband},
       {"roce", NetworkKind::roce},
       {"efa", NetworkKind::efa},
       {"tcp", NetworkKind::tcp},
       {"eth", NetworkKind::tcp},
       {"ethernet", NetworkKind::tcp},
       {"opa", NetworkKind::omnipath},
       {"slingshot", NetworkKind::slingshot},
       {"gdr", NetworkKind::none}}};
  for (const auto& [name, kind] : kinds) {
    if (name != word) continue;
    if (kind != NetworkKind::none) fabric.kind = kind;
    return true;
  }
  if (word == "nogdr") {
    fabric.gpudirect = false;
    return true;
  }
  if (word.starts_with("over")) {
    const auto factor = whole_number(word.substr(4));
    if (!factor || *factor < 1) return false;
    fabric.oversubscription = *factor;
    return true;
  }
  return read_adapters(word, fabric);
}

bool read_network(std::string_view name, Fabric& fabric) {
  for (const std::string_view word : words_of(name)) {
    if (!read_network_word(word, fabric)) return false;
  }
  return fabric.kind != NetworkKind::none && fabric.nics > 0;
}

bool read_machine(std::string_view name, LinkClass& link) {
  link.pcie_generation = 0;
  bool pcie = false;
  for (const std::string_view word : words_of(name)) {
    if (!read_machine_word(word, link)) return false;
    pcie = pcie || word.starts_with("pcie");
  }
  if (link.nvlink_shape != NvlinkShape::none && link.nvlink_generation == 0) {
    link.nvlink_generation = 3;
  }
  if (link.pcie_generation == 0) {
    // The slots of the time: PCIe 3 with NVLink 1 and 2, 4 with 3, 5 from then on.
    constexpr std::array<int, 6> of_nvlink{4, 3, 3, 4, 5, 5};
    link.pcie_generation = of_nvlink[static_cast<std::size_t>(link.nvlink_generation)];
  }
  const bool nvlink = link.nvlink_shape != NvlinkShape::none;
  return (nvlink || pcie) && (nvlink || link.nvlink_generation == 0);
}

}  // namespace

LinkName split_limit(std::string_view name) {
  const std::size_t at = name.rfind('@');
  if (at == std::string_view::npos) return {std::string(name), 0};
  std::string_view limit = name.substr(at + 1);
  if (limit.ends_with("GBps")) limit.remove_suffix(4);
  return {std::string(name.substr(0, at)), whole_number(limit).value_or(0)};
}

std::optional<LinkClass> parse_link_class(std::string_view full_name) {
  const LinkName split = split_limit(full_name);
  const std::string_view name = split.name;
  if (name.size() < full_name.size() && split.busbw_GBps == 0) return std::nullopt;
  LinkClass link;
  link.busbw_GBps = split.busbw_GBps;
  const std::size_t plus = name.find('+');
  if (plus != std::string_view::npos) {
    const bool read = read_machine(name.substr(0, plus), link) &&
                      read_network(name.substr(plus + 1), link.fabric);
    return read ? std::optional(link) : std::nullopt;
  }
  if (read_machine(name, link)) return link;
  LinkClass network_only;
  network_only.busbw_GBps = split.busbw_GBps;
  network_only.nvlink_shape = NvlinkShape::nvswitch;
  network_only.nvlink_generation = 4;
  return read_network(name, network_only.fabric) ? std::optional(network_only) : std::nullopt;
}

}  // namespace stepsight
