#include "calibrate/measure/sizes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include "model/errors.h"

namespace stepsight::calibrate {
namespace {

struct SizeUnit {
  char letter;
  std::int64_t bytes;
};

constexpr std::array<SizeUnit, 4> units{
    {{'T', 1LL << 40}, {'G', 1LL << 30}, {'M', 1LL << 20}, {'K', 1LL << 10}}};

}  // namespace

std::vector<std::int64_t> size_ladder(std::int64_t first, std::int64_t last, std::int64_t factor) {
  if (first <= 0 || factor < 2) throw std::logic_error("size_ladder: first <= 0 or factor < 2");
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = first; size <= last; size *= factor) sizes.push_back(size);
  return sizes;
}

std::int64_t parse_size(std::string_view text, std::string_view flag) {
  std::int64_t value = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest(r.ptr, static_cast<std::size_t>(text.data() + text.size() - r.ptr));
  std::int64_t unit = rest.empty() || rest == "B" ? 1 : 0;
  for (const SizeUnit& row : units) {
    const std::string letter(1, row.letter);
    if (rest == letter || rest == letter + "B" || rest == letter + "iB") unit = row.bytes;
  }
  constexpr std::int64_t largest = 1LL << 40;
  if (r.ec != std::errc{} || unit == 0 || value < 1 || value > largest / unit) {
    throw UserError(std::string(flag) + ": '" + std::string(text) +
                    "' is no size from 1 byte to 1 TiB (write 65536, 64K, 8G)");
  }
  return value * unit;
}

std::string format_size(std::int64_t bytes) {
  for (const SizeUnit& row : units) {
    if (bytes >= row.bytes && bytes % row.bytes == 0) {
      return std::to_string(bytes / row.bytes) + " " + row.letter + "iB";
    }
  }
  return std::to_string(bytes) + " B";
}

std::int64_t rotation_copies(std::int64_t working_set, std::int64_t l2_bytes, std::int64_t limit) {
  if (working_set <= 0) throw std::logic_error("rotation_copies: empty working set");
  const std::int64_t needed = 4 * l2_bytes / working_set + 1;
  return std::clamp<std::int64_t>(needed, 1, std::max<std::int64_t>(limit, 1));
}

}  // namespace stepsight::calibrate
