#include "model/io/log_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace stepsight {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The number at the start of a text and the unit after it.
std::optional<std::pair<double, std::string_view>> number_and_unit(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  return std::pair{value, trimmed(text.substr(static_cast<std::size_t>(end - text.data())))};
}

}  // namespace

std::string without_ansi(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      if (i + 1 >= text.size() || text[i + 1] != '\n') out += '\n';
    } else if (text[i] == '\x1b') {
      // ESC [ parameters letter
      ++i;
      if (i < text.size() && text[i] == '[') {
        do ++i;
        while (i < text.size() && (is_digit(text[i]) || text[i] == ';' || text[i] == '?'));
      }
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string_view without_prefix(std::string_view line) {
  line = trimmed(line);
  // At most three layers are met in practice: time stamp, launcher, comment.
  for (int layer = 0; layer < 4; ++layer) {
    if (line.starts_with('#')) {
      line = trimmed(line.substr(1));
      continue;
    }
    const std::string_view first = line.substr(0, line.find_first_of(" \t"));
    const bool launcher = first.size() > 1 && first.ends_with(':');
    const bool mpirun = first.starts_with('[') && first.find("]<std") != std::string_view::npos;
    const bool stamp = first.size() >= 20 && first[4] == '-' && first[10] == 'T';
    if (mpirun) {
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos) break;
      line = trimmed(line.substr(colon + 1));
    } else if ((launcher && first.size() < line.size()) || stamp) {
      line = trimmed(line.substr(first.size()));
    } else {
      break;
    }
  }
  return line;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::vector<std::string_view> tokens_of(std::string_view line) {
  std::vector<std::string_view> out;
  constexpr std::string_view blanks = " \t\r\n";
  std::size_t begin = line.find_first_not_of(blanks);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    out.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
  return out;
}

std::optional<double> number_of(std::string_view token) {
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  const bool whole = error == std::errc{} && end == token.data() + token.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> bytes_of(std::string_view text) {
  const auto parts = number_and_unit(text);
  if (!parts) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, double>, 12> units{{{"B", 1},
                                                                       {"", 1},
                                                                       {"KB", 1e3},
                                                                       {"MB", 1e6},
                                                                       {"GB", 1e9},
                                                                       {"KiB", 1024.0},
                                                                       {"MiB", 1048576.0},
                                                                       {"GiB", 1073741824.0},
                                                                       {"K", 1024.0},
                                                                       {"M", 1048576.0},
                                                                       {"G", 1073741824.0},
                                                                       {"TiB", 1099511627776.0}}};
  for (const auto& [unit, factor] : units) {
    if (parts->second == unit) return parts->first * factor;
  }
  return std::nullopt;
}

std::optional<double> gigabytes_per_second_of(std::string_view text) {
  const auto parts = number_and_unit(text);
  if (!parts) return std::nullopt;
  const auto [value, unit] = *parts;
  if (unit == "GBps" || unit == "GB/s") return value;
  if (unit == "Gbps" || unit == "Gb/s" || unit == "Gbits/sec" || unit == "Gb/sec") return value / 8;
  if (unit == "MBps" || unit == "MB/s") return value / 1e3;
  return std::nullopt;
}

}  // namespace stepsight
