#include "model/io/topo_matrix.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>
#include <vector>

#include "model/errors.h"
#include "model/io/error_list.h"
#include "model/io/log_text.h"
#include "model/io/read_file.h"

namespace stepsight {

namespace {

using Words = std::vector<std::string_view>;
constexpr std::size_t most_gpus = 256;

// How two cards are joined, from near to far, as the legend orders it; NVLink stands apart.
enum class Near : std::uint8_t { self, pix, pxb, phb, node, sys, nvlink };

struct Cell {
  Near near = Near::sys;
  int lanes = 0;
};

std::optional<Cell> parse_cell(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, Near>, 9> words{
      {{"X", Near::self},
       {"PIX", Near::pix},
       {"PSB", Near::pix},  // a dual-GPU board's own switch
       {"PXB", Near::pxb},
       {"PHB", Near::phb},
       {"NODE", Near::node},
       {"SOC", Near::sys},
       {"SYS", Near::sys},
       {"PXN", Near::sys}}};
  for (const auto& [known, near] : words) {
    if (known == word) return Cell{near, 0};
  }
  if (!word.starts_with("NV")) return std::nullopt;
  int lanes = 0;
  const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), lanes);
  const bool whole = error == std::errc{} && end == word.data() + word.size();
  return whole && lanes >= 1 && lanes <= 72 ? std::optional(Cell{Near::nvlink, lanes})
                                            : std::nullopt;
}

// "GPU3" -> 3.
std::optional<std::size_t> gpu_number(std::string_view word) {
  if (!word.starts_with("GPU")) return std::nullopt;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data() + 3, word.data() + word.size(), number);
  const bool whole = error == std::errc{} && end == word.data() + word.size();
  return whole && number < most_gpus ? std::optional(number) : std::nullopt;
}

struct Matrix {
  std::string file;
  std::size_t gpus = 0;
  std::vector<std::vector<Cell>> cells;
  std::vector<std::int64_t> numa;  // -1 where the row does not say
};

[[noreturn]] void fail(const Matrix& m, std::size_t line, const std::string& what) {
  throw UserError(locate(m.file, {static_cast<std::uint32_t>(line), 1}, what));
}

// The header: GPU0 GPU1 ... in that order, then adapters and affinities. Rows begin with GPUi too,
// but with a cell, not a name, after it.
std::size_t header_gpus(const Words& words) {
  std::size_t count = 0;
  for (const std::string_view word : words) {
    const auto number = gpu_number(word);
    if (!number) break;
    if (*number != count) return 0;
    ++count;
  }
  return count;
}

// NUMA node: the first whole number after the CPU list ("0-23 0 N/A", "24-31,88-95 3").
std::int64_t numa_of(const Words& words, std::size_t after) {
  for (std::size_t i = after; i + 1 < words.size(); ++i) {
    if (words[i].find_first_of("-,") == std::string_view::npos || parse_cell(words[i])) continue;
    std::int64_t numa = -1;
    const std::string_view next = words[i + 1];
    const auto [end, error] = std::from_chars(next.data(), next.data() + next.size(), numa);
    if (error == std::errc{} && end == next.data() + next.size() && numa >= 0) return numa;
  }
  return -1;
}

void read_row(Matrix& m, const Words& words, std::size_t row, std::size_t line) {
  if (row >= m.gpus)
    fail(m, line, "a row for GPU" + std::to_string(row) + " that the header lacks");
  if (!m.cells[row].empty()) fail(m, line, "GPU" + std::to_string(row) + " has two rows");
  if (words.size() < 1 + m.gpus) {
    fail(m,
         line,
         "the row of GPU" + std::to_string(row) + " has " + std::to_string(words.size() - 1) +
             " cells, the header names " + std::to_string(m.gpus) + " GPUs");
  }
  for (std::size_t column = 0; column < m.gpus; ++column) {
    const auto cell = parse_cell(words[1 + column]);
    if (!cell) {
      fail(m,
           line,
           "'" + std::string(words[1 + column].substr(0, 40)) +
               "' is no connection; known are X, PIX, PXB, PHB, NODE, SYS and NV#");
    }
    m.cells[row].push_back(*cell);
  }
  m.numa[row] = numa_of(words, 1 + m.gpus);
}

Matrix read_matrix(const std::string& file, std::string_view text) {
  Matrix m;
  m.file = file;
  const std::string plain = without_ansi(text);
  std::size_t line = 0;
  for (const std::string_view raw : split(plain, '\n')) {
    ++line;
    const Words words = tokens_of(raw);
    if (words.empty()) continue;
    if (m.gpus == 0) {
      m.gpus = header_gpus(words);
      m.cells.resize(m.gpus);
      m.numa.assign(m.gpus, -1);
      continue;
    }
    if (const auto row = gpu_number(words.front())) read_row(m, words, *row, line);
  }
  if (m.gpus == 0) {
    throw UserError(file + ": no `nvidia-smi topo -m` matrix was found (a line 'GPU0 GPU1 ...')");
  }
  return m;
}

// A cell that was cut off at the lower half counts as its mirror; two that differ are a mistake.
void check(Matrix& m) {
  for (std::size_t i = 0; i < m.gpus; ++i) {
    if (m.cells[i].empty()) {
      throw UserError(m.file + ": the row of GPU" + std::to_string(i) + " is missing");
    }
  }
  for (std::size_t i = 0; i < m.gpus; ++i) {
    for (std::size_t j = 0; j < m.gpus; ++j) {
      const Cell& there = m.cells[i][j];
      const Cell& back = m.cells[j][i];
      if ((i == j) != (there.near == Near::self)) {
        throw UserError(m.file + ": 'X' must stand where a GPU meets itself, and only there (GPU" +
                        std::to_string(i) + ", GPU" + std::to_string(j) + ")");
      }
      if (there.near != back.near || there.lanes != back.lanes) {
        throw UserError(m.file + ": GPU" + std::to_string(i) + " and GPU" + std::to_string(j) +
                        " say different things of each other");
      }
    }
  }
}

// Numbers GPUs by groups: two are of one group when something at most `far` apart joins them,
// NVLink aside (it hides where the cards sit).
std::vector<std::uint32_t> groups(const Matrix& m, Near far, bool by_numa) {
  std::vector<std::uint32_t> group(m.gpus);
  std::iota(group.begin(), group.end(), 0U);
  const auto merge = [&](std::uint32_t from, std::uint32_t into) {
    std::ranges::replace(group, std::max(from, into), std::min(from, into));
  };
  for (std::size_t i = 0; i < m.gpus; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Near near = m.cells[i][j].near;
      const bool numa = by_numa && m.numa[i] >= 0 && m.numa[i] == m.numa[j];
      if ((near <= far && near != Near::nvlink) || (near == Near::nvlink && numa)) {
        merge(group[i], group[j]);
      }
    }
  }
  return group;
}

// Cards joined by NVLink in a matrix without NUMA columns would each seem to be alone: they count
// to the socket of the first card that they are not at odds with.
void settle_strays(const Matrix& m, std::vector<std::uint32_t>& socket) {
  for (std::size_t i = 0; i < m.gpus; ++i) {
    for (std::size_t j = 0; j < i && socket[i] == i; ++j) {
      if (m.cells[i][j].near != Near::nvlink) continue;
      bool at_odds = false;
      for (std::size_t k = 0; k < m.gpus; ++k) {
        at_odds = at_odds || (socket[k] == socket[j] && m.cells[i][k].near == Near::sys);
      }
      if (!at_odds) socket[i] = socket[j];
    }
  }
}

// Links a pair that are more than a GPU has for all its peers: a switch joins them.
int switch_lanes(const Matrix& m) {
  constexpr int most_links = 18;
  if (m.gpus < 3) return 0;
  const int lanes = m.cells[0][1].lanes;
  for (std::size_t i = 0; i < m.gpus; ++i) {
    for (std::size_t j = 0; j < m.gpus; ++j) {
      if (i != j && m.cells[i][j].lanes != lanes) return 0;
    }
  }
  return lanes * static_cast<int>(m.gpus - 1) > most_links ? lanes : 0;
}

int generation_of(const Matrix& m, const LinkClass& link) {
  if (link.nvlink_generation > 0) return link.nvlink_generation;
  int most = 0;
  for (const auto& row : m.cells) {
    for (const Cell& cell : row) most = std::max(most, cell.lanes);
  }
  // Links of a pair: V100 and Turing up to 3 (6 at a switch), 3090 and A6000 4, A100 12, H100 18.
  if (most == 0) return 0;
  return most >= 18 ? 4 : (most == 4 || most >= 8) ? 3 : 2;
}

}  // namespace

Topology topo_matrix_topology(const std::string& file,
                              std::string_view text,
                              const LinkClass& link) {
  Matrix m = read_matrix(file, text);
  check(m);
  const std::vector<std::uint32_t> switches = groups(m, Near::pxb, false);
  const std::vector<std::uint32_t> bridges = groups(m, Near::phb, false);
  std::vector<std::uint32_t> sockets = groups(m, Near::node, true);
  settle_strays(m, sockets);
  std::vector<CardSlot> slots(m.gpus);
  std::vector<NvlinkPair> pairs;
  const int lanes_to_switch = switch_lanes(m);
  for (std::uint32_t i = 0; i < m.gpus; ++i) {
    const bool shared = std::ranges::count(switches, switches[i]) > 1;
    slots[i] = {sockets[i], bridges[i], shared ? static_cast<std::int32_t>(switches[i]) : -1};
    for (std::uint32_t j = i + 1; j < m.gpus && lanes_to_switch == 0; ++j) {
      if (m.cells[i][j].near == Near::nvlink) pairs.push_back({i, j, m.cells[i][j].lanes});
    }
  }
  LinkClass wires = link;
  wires.nvlink_generation = generation_of(m, link);
  return build_machine(wires, slots, pairs, lanes_to_switch);
}

Topology read_topo_matrix(const std::string& path, const LinkClass& link) {
  return topo_matrix_topology(path, read_file(path, megabyte, "a topology matrix"), link);
}

}  // namespace stepsight
