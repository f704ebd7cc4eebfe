// Message and buffer sizes in bytes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepsight::calibrate {

// first, first*factor, ... up to and including `last` where the ladder meets it.
// factor >= 2 and 0 < first, or std::logic_error.
std::vector<std::int64_t> size_ladder(std::int64_t first, std::int64_t last, std::int64_t factor);

// "64K", "8G", "512", "1MiB" (K, M, G are powers of 1024, as nccl-tests reads them). Throws
// UserError that names `flag` when the text is no size from 1 byte to 1 TiB.
std::int64_t parse_size(std::string_view text, std::string_view flag);

// Exact where it can be: "64 KiB", "8 GiB", "1000 B".
std::string format_size(std::int64_t bytes);

// How many copies of a working set must take turns so that none of it is still in the L2 when its
// turn comes again: more than four times the L2 in all, at least 1, at most `limit`.
std::int64_t rotation_copies(std::int64_t working_set, std::int64_t l2_bytes, std::int64_t limit);

}  // namespace stepsight::calibrate
