// Names, notes and paths from people's files inside other languages: they stay text.
#pragma once
#include <string>
#include <string_view>

namespace stepsight {

// A quoted JSON string: control characters, quotes and backslashes escaped, and "<", ">", "&" and
// the two line separators as \uXXXX, so that it may also stand within a <script> of a page. What is
// not UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

// Text for HTML and SVG, between tags or within a quoted attribute. Control characters other than
// tab and line feed go, what is not UTF-8 becomes U+FFFD.
std::string html_text(std::string_view text);

// Text for a line of Markdown, a cell of its tables included: everything that Markdown or the HTML
// in it could take for markup is escaped, line feeds become blanks.
std::string markdown_text(std::string_view text);

// Bytes of the valid UTF-8 sequence at `at`; 0 where there is none.
std::size_t utf8_length(std::string_view text, std::size_t at);

// The same text with every byte that does not belong to valid UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace stepsight
