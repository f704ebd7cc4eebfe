#include "reports/terminal_style.h"

#include <array>
#include <utility>

namespace stepsight {

namespace {

constexpr std::string_view reset = "\x1b[0m";
constexpr std::string_view faint = "\x1b[2m";
constexpr std::string_view bar = "\x1b[36m";

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> openings{{
    {"DOES NOT FIT:", "\x1b[1;31m"},
    {"Caution:", "\x1b[33m"},
    {"Hint:", "\x1b[32m"},
}};

void append(std::string& out, std::string_view colour, std::string_view text) {
  out.append(colour).append(text).append(reset);
}

void append_line(std::string& out, std::string_view line) {
  for (const auto& [opening, colour] : openings) {
    if (!line.starts_with(opening)) continue;
    append(out, colour, opening);
    out += line.substr(opening.size());
    return;
  }
  if (line.starts_with("--") && line.find_first_not_of("- ") == std::string_view::npos) {
    append(out, faint, line);
    return;
  }
  // A bar ends its line.
  const std::size_t last = line.find_last_not_of('#');
  const std::size_t begin = last == std::string_view::npos ? 0 : last + 1;
  out += line.substr(0, begin);
  if (begin < line.size()) append(out, bar, line.substr(begin));
}

}  // namespace

std::string with_colours(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 256);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    append_line(out, text.substr(0, end));
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace stepsight
