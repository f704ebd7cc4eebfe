// The only file that includes toml++: it takes 2.6 s to compile and its types stay here.
//
// Compiled in (no shared library beside an installed program), with the fast number parser (a third
// of the time) and without its assertions: toml++ 3.3 asserts what it then reports as a proper
// syntax error ("[[[" at the start of a line), and with NDEBUG turns the assertion into an
// assumption where the compiler has one. Hostile files must reach the report in every build.
#include <version>
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#undef NDEBUG
#define TOML_HEADER_ONLY 1
#ifdef __cpp_lib_to_chars
#define TOML_FLOAT_CHARCONV 1
#endif
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <algorithm>

#include <toml++/toml.h>

#include "model/errors.h"
#include "model/io/value.h"

namespace stepsight {
namespace {

constexpr int deepest_key = 16;  // dots in one key or table header

Position position(const toml::source_region& source) {
  return {source.begin.line, source.begin.column};
}

// Skips one string whose opening quote stands at `at`; returns the offset after it, the end of the
// text when it is not closed (the parser then says so).
std::size_t skip_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view triple = quote == '"' ? R"(""")" : "'''";
  const bool multi_line = text.substr(at, 3) == triple;
  const std::string_view close = multi_line ? triple : triple.substr(0, 1);
  for (at += close.size(); at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text.substr(at, close.size()) == close) {
      return at + close.size();
    } else if (!multi_line && text[at] == '\n') {
      return at;
    }
  }
  return text.size();
}

// A key of half a million dots is a tree as deep, and freeing it overflows the stack: toml++ before
// 3.4 has no limit of its own. So count the dots of each key before parsing.
void check_key_depth(const std::string& file, std::string_view text) {
  std::uint32_t line = 1;
  std::size_t line_start = 0;
  int dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      const std::size_t end = skip_string(text, at);
      line += static_cast<std::uint32_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                    text.begin() + static_cast<std::ptrdiff_t>(end),
                                                    '\n'));
      at = end;
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '\n') {
      ++line;
      line_start = at + 1;
    }
    if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') dots = 0;
    if (c == '.' && ++dots > deepest_key) {
      const auto column = static_cast<std::uint32_t>(at - line_start + 1);
      throw UserError(locate(file, {line, column}, "this key is nested too deep"));
    }
    ++at;
  }
}

Value convert(const toml::node& node);

Members convert_table(const toml::table& table) {
  Members members;
  members.reserve(table.size());
  for (const auto& [key, node] : table) {
    members.push_back({std::string(key.str()), position(key.source()), convert(node)});
  }
  // toml++ keeps keys sorted by name; the order of the file is what a sweep means.
  std::stable_sort(
      members.begin(), members.end(), [](const Member& a, const Member& b) { return a.at < b.at; });
  return members;
}

Value convert(const toml::node& node) {
  const Position at = position(node.source());
  switch (node.type()) {
    case toml::node_type::boolean:
      return {node.as_boolean()->get(), at};
    case toml::node_type::integer:
      return {node.as_integer()->get(), at};
    case toml::node_type::floating_point:
      return {node.as_floating_point()->get(), at};
    case toml::node_type::string:
      return {node.as_string()->get(), at};
    case toml::node_type::table:
      return {convert_table(*node.as_table()), at};
    case toml::node_type::array: {
      Array items;
      items.reserve(node.as_array()->size());
      for (const toml::node& item : *node.as_array()) items.push_back(convert(item));
      return {std::move(items), at};
    }
    default:
      return {OtherValue{"a date or time"}, at};
  }
}

}  // namespace

Value parse_toml(const std::string& file, std::string_view text) {
  check_key_depth(file, text);
  try {
    return convert(toml::parse(text));
  } catch (const toml::parse_error& error) {
    throw UserError(locate(file, position(error.source()), std::string(error.description())));
  }
}

}  // namespace stepsight
