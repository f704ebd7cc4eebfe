#include "reports/terminal_style.h"

#include <array>
#include <string>
#include <utility>

#include "reports/words.h"

namespace stepsight {

namespace {

constexpr std::string_view reset = "\x1b[0m";
constexpr std::string_view faint = "\x1b[2m";
constexpr std::string_view bar = "\x1b[36m";

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> openings{{
    {"opening.does_not_fit", "\x1b[1;31m"},
    {"opening.caution", "\x1b[33m"},
    {"opening.hint", "\x1b[32m"},
}};

// The opening that the line has in one of the languages; empty for none.
std::string_view opening_of(std::string_view line, std::string_view key) {
  for (const std::string& language : language_names()) {
    const std::string_view opening = Words(language).text(key);
    if (line.starts_with(opening)) return opening;
  }
  return {};
}

void append(std::string& out, std::string_view colour, std::string_view text) {
  out.append(colour).append(text).append(reset);
}

void append_line(std::string& out, std::string_view line) {
  for (const auto& [key, colour] : openings) {
    const std::string_view opening = opening_of(line, key);
    if (opening.empty()) continue;
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
