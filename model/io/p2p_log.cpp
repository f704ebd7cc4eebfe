#include "model/io/p2p_log.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "model/errors.h"
#include "model/io/log_text.h"

namespace stepsight {

namespace {

struct Matrix {
  std::vector<std::vector<double>> rows;

  // Every row has as many numbers as there are rows, and there are two GPUs or more.
  [[nodiscard]] bool whole() const {
    return rows.size() > 1 && std::ranges::all_of(rows, [&](const std::vector<double>& row) {
             return row.size() == rows.size();
           });
  }
  [[nodiscard]] double least_between() const {
    double least = std::numeric_limits<double>::max();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < rows.size(); ++j) {
        if (i != j) least = std::min(least, rows[i][j]);
      }
    }
    return least;
  }
  [[nodiscard]] double most_between() const {
    double most = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < rows.size(); ++j) {
        if (i != j) most = std::max(most, rows[i][j]);
      }
    }
    return most;
  }
};

enum class Kind : std::uint8_t { connectivity, one_way, both_ways, latency, none };

struct P2pLog {
  // By kind (three measured ones), without and with P2P.
  std::array<std::array<Matrix, 2>, 5> matrices;
  [[nodiscard]] const Matrix& get(Kind kind, bool enabled) const {
    return matrices[static_cast<std::size_t>(kind)][enabled ? 1 : 0];
  }
};

// "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)" of CUDA's sample; of nvbandwidth "memcpy CE
// GPU(row) <-> GPU(column) Total bandwidth (GB/s)" and, one way, "GPU(row) -> GPU(column)".
Kind kind_of(std::string_view title) {
  const auto has = [&](std::string_view word) {
    return title.find(word) != std::string_view::npos;
  };
  if (has("memcpy") && has("GPU(row)") && has("GPU(column)")) {
    if (!has("<->")) return Kind::one_way;
    return has("Total") ? Kind::both_ways : Kind::none;
  }
  if (!has("Matrix")) return Kind::none;
  if (has("Connectivity")) return Kind::connectivity;
  if (has("Bidirectional")) return Kind::both_ways;
  if (has("Unidirectional")) return Kind::one_way;
  return has("Latency") ? Kind::latency : Kind::none;
}

// "0 1 2": the header of the columns, where nothing stands before it.
bool counts_up(const std::vector<std::string_view>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (number_of(words[i]) != static_cast<double>(i)) return false;
  }
  return true;
}

// The GPU's latency matrix is followed by the CPU's, which says nothing of the link.
P2pLog parse(std::string_view text) {
  P2pLog log;
  Matrix* current = nullptr;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trimmed(raw);
    const bool copies = line.find("memcpy") != std::string_view::npos;
    if (copies || line.find("Matrix") != std::string_view::npos) {
      const Kind kind = kind_of(line);
      const bool enabled = !copies && line.find("P2P=Enabled") != std::string_view::npos;
      current = kind == Kind::none ? nullptr
                                   : &log.matrices[static_cast<std::size_t>(kind)][enabled ? 1 : 0];
      continue;
    }
    if (line.starts_with("CPU")) current = nullptr;
    const auto words = tokens_of(line);
    if (current == nullptr || words.size() < 2) continue;
    // Rows begin with their own number; the header of the columns does not come after a row.
    const auto number = number_of(words.front());
    if (!number || *number != static_cast<double>(current->rows.size())) continue;
    if (current->rows.empty() && counts_up(words)) continue;
    std::vector<double> row;
    for (std::size_t i = 1; i < words.size(); ++i) {
      // A card with itself is no pair: nvbandwidth says N/A.
      if (words[i] == "N/A") row.push_back(0);
      if (const auto cell = number_of(words[i])) row.push_back(*cell);
    }
    current->rows.push_back(std::move(row));
  }
  return log;
}

bool peers_allowed(const P2pLog& log) {
  const Matrix& allowed = log.get(Kind::connectivity, false);
  return allowed.whole() && allowed.least_between() > 0;
}

}  // namespace

bool looks_like_p2p_log(std::string_view text) {
  return text.find("P2P=Disabled") != std::string_view::npos ||
         text.find("P2P=Enabled") != std::string_view::npos ||
         (text.find("memcpy") != std::string_view::npos &&
          text.find("GPU(column)") != std::string_view::npos);
}

CollectiveLog read_p2p_log(const std::string& file, std::string_view text) {
  const P2pLog log = parse(without_ansi(text));
  const bool enabled = peers_allowed(log) && (log.get(Kind::both_ways, true).whole() ||
                                              log.get(Kind::one_way, true).whole());
  const Matrix& both = log.get(Kind::both_ways, enabled);
  const Matrix& one = log.get(Kind::one_way, enabled);
  const double rate = both.whole()  ? both.least_between() / 2
                      : one.whole() ? one.least_between()
                                    : 0;
  if (!(rate > 0)) {
    throw UserError(file + ": no whole bandwidth matrix of two GPUs or more was found");
  }
  const Matrix& start = log.get(Kind::latency, enabled);
  const double latency_us = start.whole() ? start.most_between() : 0;
  CollectiveLog out;
  out.kind = CollectiveKind::all_reduce;
  out.ranks = 2;
  // A copy starts once for the sum and once for the result.
  for (double bytes = 1024; bytes <= 1073741824; bytes *= 4) {
    const double us = 2 * latency_us + bytes / (rate * 1e3);
    out.rows.push_back({bytes, us, bytes / us / 1e3});
  }
  // nvbandwidth does not say which way the copies took.
  if (text.find("P2P=") != std::string_view::npos) {
    out.transports.emplace_back(enabled ? "P2P" : "SHM");
  }
  out.skipped.emplace_back("copies of the slowest pair stand in for a sweep over two ranks");
  return out;
}

}  // namespace stepsight
