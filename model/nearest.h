// Which known name did a person mean? For messages such as "unknown key `layer`; did you mean
// `layers`?". Case and the kind of separator ('-', '_', ' ') count for nothing.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepsight {

// Least number of insertions, deletions, substitutions and swaps of neighbours that turn `a` into
// `b` (optimal string alignment), after folding case and separators.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The known name closest to `wanted`; the earlier one on a tie. Empty when none is near enough to
// be a likely slip: more than a third of the longer name (and more than one character) differs.
// The result points into `names`.
std::optional<std::string_view> nearest(std::string_view wanted,
                                        std::span<const std::string_view> names);
std::optional<std::string_view> nearest(std::string_view wanted,
                                        std::span<const std::string> names);

// The `count` closest names, best first, however far they are.
std::vector<std::string_view> nearest_names(std::string_view wanted,
                                            std::span<const std::string_view> names,
                                            std::size_t count);

}  // namespace stepsight
