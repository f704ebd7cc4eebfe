#include "reports/text_width.h"

#include <algorithm>
#include <array>

#include "reports/escape.h"

namespace stepsight {

namespace {

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

struct Block {
  char32_t first, last;
};
// Unicode 15 EastAsianWidth.txt, W and F, with the unassigned characters between them.
constexpr std::array<Block, 13> wide{{{0x1100, 0x115F},
                                      {0x2E80, 0x303E},
                                      {0x3041, 0xA4CF},
                                      {0xA960, 0xA97C},
                                      {0xAC00, 0xD7A3},
                                      {0xF900, 0xFAFF},
                                      {0xFE30, 0xFE6F},
                                      {0xFF00, 0xFF60},
                                      {0xFFE0, 0xFFE6},
                                      {0x1F300, 0x1F64F},
                                      {0x1F680, 0x1F6FF},
                                      {0x1F900, 0x1F9FF},
                                      {0x20000, 0x3FFFD}}};

Character next_of(std::string_view text) {
  const std::size_t bytes = utf8_length(text, 0);
  if (bytes <= 1) return {};
  const auto lead = static_cast<unsigned char>(text.front());
  char32_t code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i)
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
  const bool is_wide = std::ranges::any_of(
      wide, [code](const Block& b) { return code >= b.first && code <= b.last; });
  return {bytes, is_wide ? 2U : 1U};
}

// The punctuation of the catalogues that no line begins with.
bool ends_a_clause(std::string_view character) {
  constexpr std::array<std::string_view, 8> marks{"，", "。", "；", "：", "）", "、", "？", "！"};
  return std::ranges::find(marks, character) != marks.end();
}

// Bytes of the part of a word that stays whole: a run of narrow characters, or a wide one with the
// punctuation after it. An opening bracket stays with what follows.
std::size_t piece_of(std::string_view word) {
  if (word.empty()) return 0;
  std::size_t end = 0;
  while (word.substr(end).starts_with("（")) end += 3;
  const Character first = next_of(word.substr(end));
  end = std::min(word.size(), end + first.bytes);
  while (end < word.size()) {
    const Character c = next_of(word.substr(end));
    const std::string_view text = word.substr(end, c.bytes);
    const bool joins = first.columns == 1 && c.columns == 1;
    if (!joins && !ends_a_clause(text)) break;
    end += c.bytes;
  }
  return end;
}

}  // namespace

std::size_t text_width(std::string_view text) {
  std::size_t out = 0;
  while (!text.empty()) {
    const Character c = next_of(text);
    out += c.columns;
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::string cut(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  std::size_t used = 0;
  while (end < text.size()) {
    const Character c = next_of(text.substr(end));
    if (used + c.columns > columns) break;
    used += c.columns;
    end += c.bytes;
  }
  return std::string(text.substr(0, end));
}

std::string wrap(std::string_view text, std::size_t room) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    std::size_t blank = 1;  // before the word's first piece
    do {
      const std::string_view piece = word.substr(0, piece_of(word));
      word.remove_prefix(piece.size());
      const std::size_t width = text_width(piece);
      if (column > 0 && column + blank + width > room) {
        out += '\n';
        column = 0;
      } else if (column > 0) {
        out.append(blank, ' ');
        column += blank;
      }
      out += piece;
      column += width;
      blank = 0;
    } while (!word.empty());
  }
  return out;
}

}  // namespace stepsight
