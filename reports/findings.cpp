#include "reports/findings.h"

#include <optional>
#include <vector>

namespace stepsight {

namespace {

struct Place {
  std::string_view name, value;
};

// What stands in the places of `pattern`, where `text` is of its form.
std::optional<std::vector<Place>> match(std::string_view pattern, std::string_view text) {
  std::vector<Place> out;
  while (true) {
    const std::size_t open = pattern.find('{');
    const std::string_view literal = pattern.substr(0, open);
    if (!text.starts_with(literal)) return std::nullopt;
    text.remove_prefix(literal.size());
    if (open == std::string_view::npos) {
      if (!text.empty()) return std::nullopt;
      return out;
    }
    const std::size_t close = pattern.find('}', open);
    const std::string_view name = pattern.substr(open + 1, close - open - 1);
    pattern.remove_prefix(close + 1);
    // Up to what follows the place; the last one holds the rest.
    const std::string_view next = pattern.substr(0, pattern.find('{'));
    const std::size_t end = next.empty() ? text.size() : text.find(next);
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    out.push_back({name, text.substr(0, end)});
    text.remove_prefix(end);
  }
}

std::string filled(std::string_view pattern, const std::vector<Place>& places, const Words& words) {
  std::string out(pattern);
  for (const Place& place : places) {
    const std::string mark = "{" + std::string(place.name) + "}";
    const std::size_t at = out.find(mark);
    if (at != std::string::npos) out.replace(at, mark.size(), said(place.value, words));
  }
  return out;
}

}  // namespace

std::string said(std::string_view finding, const Words& words) {
  if (words.language() == "zh") {
    for (const Finding& known : chinese_findings()) {
      if (const auto places = match(known.english, finding))
        return filled(known.other, *places, words);
    }
  }
  return std::string(finding);
}

}  // namespace stepsight
