// Help texts for a terminal of 80 columns.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

namespace stepsight {

// Breaks a text into lines of at most `width` columns at its blanks.
inline std::string wrap(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (column > 0 && column + 1 + word.size() > width) {
      out += '\n';
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

// Beside a column of option names 30 wide.
inline std::string help_text(std::string_view text) { return wrap(text, 48); }

}  // namespace stepsight
