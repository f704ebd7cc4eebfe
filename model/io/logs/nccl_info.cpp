#include "model/io/logs/nccl_info.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/errors.h"
#include "model/io/log_text.h"
#include "model/io/logs/log_fields.h"
#include "model/io/logs/log_lines.h"

namespace stepsight {

namespace {

constexpr std::size_t most_names = 64;
constexpr std::size_t longest_name = 60;

void count(std::map<std::string, std::int64_t>& into, std::string_view name) {
  if (name.empty() || name.size() > longest_name) return;
  const auto known = into.find(std::string(name));
  if (known != into.end()) {
    ++known->second;
  } else if (into.size() < most_names) {
    into.emplace(name, 1);
  }
}

// "NET/IB/3/GDRDMA" -> "NET/IB", "NET/Socket/0" -> "NET/Socket", "SHM/direct/direct" ->
// "SHM/direct".
std::string_view transport_of(std::string_view word) {
  const std::size_t first = word.find('/');
  if (first == std::string_view::npos) return word;
  return word.substr(0, word.find('/', first + 1));
}

void read_channel(std::string_view text, NcclInfo& info) {
  const std::size_t via = text.find(" via ");
  if (via == std::string_view::npos) return;
  const std::string_view word = trimmed(text.substr(via + 5));
  count(info.transports, transport_of(word));
  if (word.find("/GDRDMA") != std::string_view::npos) ++info.gpudirect;
}

// "AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}"
void read_algorithm(std::string_view text, NcclInfo& info) {
  const std::size_t at = text.find("Algo ");
  if (at == std::string_view::npos) return;
  const auto words = tokens_of(text.substr(at, 200));
  if (words.size() > 3 && words[2] == "proto") {
    count(info.algorithms, std::string(words[1]) + " " + std::string(words[3]));
  }
}

void read_network(std::string_view text, NcclInfo& info) {
  if (text.find("NET/IB : No device found") != std::string_view::npos) info.no_infiniband = true;
  constexpr std::string_view used = "Using network ";
  if (const std::size_t at = text.find(used); at != std::string_view::npos) {
    info.network = trimmed(text.substr(at + used.size(), longest_name));
  }
  for (const std::string_view plain :
       {std::string_view("NET/Socket : Using"), std::string_view("NET/IB : Using")}) {
    if (info.network.empty() && text.find(plain) != std::string_view::npos) {
      info.network = plain.substr(4, plain.find(' ') - 4);
    }
  }
  const bool loaded = text.find("Loaded net plugin") != std::string_view::npos ||
                      text.find("Using external network plugin") != std::string_view::npos;
  if (loaded && info.plugin.empty())
    info.plugin = trimmed(text.substr(text.find("plugin") + 6, longest_name));
}

void read_line(std::string_view line, NcclInfo& info) {
  constexpr std::string_view mark = "NCCL INFO ";
  const std::size_t at = line.find(mark);
  constexpr std::string_view version = "NCCL version ";
  if (const std::size_t v = line.find(version);
      v != std::string_view::npos && info.version.empty()) {
    info.version = trimmed(line.substr(v + version.size(), longest_name));
  }
  if (at == std::string_view::npos) return;
  ++info.lines;
  const std::string_view text = line.substr(at + mark.size());
  if (text.find("Channel ") != std::string_view::npos) read_channel(text, info);
  if (text.find("NET") != std::string_view::npos || text.find("etwork") != std::string_view::npos ||
      text.find("net plugin") != std::string_view::npos) {
    read_network(text, info);
  }
  read_algorithm(text, info);
  if (const auto ranks = count_after(text, "nranks"); ranks && *ranks <= 10'000'000) {
    info.ranks = std::max(info.ranks, *ranks);
  }
}

NcclInfo checked(const std::string& file, NcclInfo info) {
  if (info.lines == 0) {
    throw UserError(file +
                    ": holds no line of NCCL; run with NCCL_DEBUG=INFO and keep what it prints");
  }
  return info;
}

}  // namespace

std::int64_t NcclInfo::channels(std::string_view word) const {
  std::int64_t out = 0;
  for (const auto& [name, n] : transports) {
    if (name.starts_with(word)) out += n;
  }
  return out;
}

std::vector<std::string> findings(const NcclInfo& info) {
  std::vector<std::string> out;
  const std::int64_t net = info.channels("NET");
  const std::int64_t sockets = info.channels("NET/Socket");
  if (sockets > 0) {
    out.push_back(fmt::format(
        "{} channels run over TCP sockets{}: expect 1 to 5 GB/s where RDMA gives ten times that",
        sockets,
        info.no_infiniband ? " because NCCL finds no InfiniBand device" : ""));
  }
  if (net > sockets && info.gpudirect == 0) {
    out.emplace_back(
        "the network's adapters do not read GPU memory (no GDRDMA): every message goes through "
        "host memory");
  }
  if (info.channels("SHM") > 0 && info.channels("P2P") == 0) {
    out.push_back(
        fmt::format("{} channels go through host memory (SHM) and none from GPU to GPU: no P2P",
                    info.channels("SHM")));
  } else if (info.channels("SHM") > 0) {
    out.push_back(fmt::format(
        "{} of {} channels inside a machine go through host memory (SHM): some pairs of "
        "cards have no P2P, and a ring is as fast as its slowest pair",
        info.channels("SHM"),
        info.channels("SHM") + info.channels("P2P")));
  }
  if (!info.plugin.empty() && info.no_infiniband) {
    out.push_back("a network plugin is loaded (" + info.plugin +
                  "): it may carry RDMA although NCCL's own InfiniBand is off");
  }
  return out;
}

NcclInfo read_nccl_info(const std::string& path) {
  NcclInfo info;
  read_lines(path, [&](std::string_view line) { read_line(line, info); });
  return checked(path, std::move(info));
}

NcclInfo read_nccl_info_text(const std::string& file, std::string_view text) {
  NcclInfo info;
  read_lines_text(text, [&](std::string_view line) { read_line(line, info); });
  return checked(file, std::move(info));
}

}  // namespace stepsight
