// Files packed with gzip, for read_file().
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace stepsight {

[[nodiscard]] bool is_gzip(std::string_view bytes);

// Undoes one or more gzip members that stand one after another, as `cat a.gz b.gz` makes them.
// Messages and limits as read_file()'s.
std::string gunzip(const std::string& path,
                   std::string raw,
                   std::size_t max_bytes,
                   std::string_view what);

// UserError: the file holds more than `what` may.
[[noreturn]] void fail_too_large(const std::string& path,
                                 std::size_t max_bytes,
                                 std::string_view what);

}  // namespace stepsight
