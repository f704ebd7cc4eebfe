#include "reports/escape.h"

#include <cstdint>

#include <fmt/format.h>

namespace stepsight {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// `ascii` says what a byte below 128 becomes.
template <typename Ascii>
std::string escaped(std::string_view text, Ascii ascii) {
  std::string out;
  out.reserve(text.size() + 8);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      out += replacement;
      ++i;
    } else if (length == 1) {
      ascii(text[i], out);
      ++i;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace

// RFC 3629: no overlong form, no surrogate, at most U+10FFFF.
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const unsigned char lead = byte_at(text, i);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : lead >= 0xE0 && lead <= 0xEF ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte_at(text, i + k) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte_at(text, i + 1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

std::string valid_utf8(std::string_view text) {
  return escaped(text, [](char c, std::string& out) { out += c; });
}

std::string json_string(std::string_view text) {
  std::string inner = escaped(text, [](char c, std::string& out) {
    switch (c) {
      case '"':
        out += "\\\"";
        return;
      case '\\':
        out += "\\\\";
        return;
      case '\n':
        out += "\\n";
        return;
      case '\t':
        out += "\\t";
        return;
      default:
        break;
    }
    if (is_control(c) || c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  });
  // U+2028 and U+2029 end a line in older JavaScript.
  for (const auto& [from, to] :
       {std::pair{"\xE2\x80\xA8", "\\u2028"}, {"\xE2\x80\xA9", "\\u2029"}}) {
    for (std::size_t at = inner.find(from); at != std::string::npos; at = inner.find(from, at)) {
      inner.replace(at, 3, to);
    }
  }
  return '"' + inner + '"';
}

std::string html_text(std::string_view text) {
  return escaped(text, [](char c, std::string& out) {
    switch (c) {
      case '&':
        out += "&amp;";
        return;
      case '<':
        out += "&lt;";
        return;
      case '>':
        out += "&gt;";
        return;
      case '"':
        out += "&quot;";
        return;
      case '\'':
        out += "&#39;";
        return;
      default:
        break;
    }
    if (!is_control(c) || c == '\n' || c == '\t') out += c;
  });
}

std::string markdown_text(std::string_view text) {
  return escaped(text, [](char c, std::string& out) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '\n' || c == '\t') {
      out += ' ';
    } else if (std::string_view("\\`*_{}[]#|~>").find(c) != std::string_view::npos) {
      out += '\\';
      out += c;
    } else if (!is_control(c)) {
      out += c;
    }
  });
}

}  // namespace stepsight
