#include "model/nearest.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace stepsight {
namespace {

std::string folded(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const bool separator = c == '_' || c == ' ';
    result.push_back(separator ? '-'
                               : static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return result;
}

bool likely_slip(std::size_t distance, std::size_t longer) {
  return distance <= std::max<std::size_t>(1, longer / 3) && distance < longer;
}

template <typename Name>
std::optional<std::string_view> nearest_of(std::string_view wanted, std::span<const Name> names) {
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (const Name& name : names) {
    const std::size_t distance = edit_distance(wanted, name);
    if (!likely_slip(distance, std::max(wanted.size(), name.size()))) continue;
    if (best && distance >= best_distance) continue;
    best = name;
    best_distance = distance;
  }
  return best;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Names are short; a hostile "name" of megabytes must not cost a quadratic table.
  constexpr std::size_t longest = 200;
  if (std::max(a.size(), b.size()) > longest) return std::max(a.size(), b.size());
  const std::string from = folded(a);
  const std::string to = folded(b);
  // Three rows of the table: two back (for swaps), the previous one, the one being filled.
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> above(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t substituted = above[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substituted});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[to.size()];
}

std::optional<std::string_view> nearest(std::string_view wanted,
                                        std::span<const std::string_view> names) {
  return nearest_of(wanted, names);
}

std::optional<std::string_view> nearest(std::string_view wanted,
                                        std::span<const std::string> names) {
  return nearest_of(wanted, names);
}

std::vector<std::string_view> nearest_names(std::string_view wanted,
                                            std::span<const std::string_view> names,
                                            std::size_t count) {
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  ranked.reserve(names.size());
  for (const std::string_view name : names) {
    ranked.emplace_back(edit_distance(wanted, name), name);
  }
  std::stable_sort(
      ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  ranked.resize(std::min(count, ranked.size()));
  std::vector<std::string_view> result;
  result.reserve(ranked.size());
  for (const auto& [distance, name] : ranked) result.push_back(name);
  return result;
}

}  // namespace stepsight
