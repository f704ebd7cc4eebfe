#include "calibrate/measure/collective_table.h"

#include <algorithm>
#include <stdexcept>

#include "model/errors.h"

namespace stepsight::calibrate {

std::int64_t buffer_elements(BufferSize size, std::int64_t elements, int n) {
  return size == BufferSize::message ? elements : elements / n;
}

double bus_factor(BusFactor factor, int n) {
  const double ranks = n;
  switch (factor) {
    case BusFactor::one:
      return 1;
    case BusFactor::n_minus_1_over_n:
      return (ranks - 1) / ranks;
    case BusFactor::twice_n_minus_1_over_n:
      return 2 * (ranks - 1) / ranks;
  }
  throw std::logic_error("unknown bus factor");
}

std::int64_t message_elements(std::int64_t bytes, int n) {
  const std::int64_t elements = bytes / 4 / n * n;
  return std::max<std::int64_t>(elements, n);
}

float send_value(int rank, std::int64_t index) {
  return static_cast<float>((static_cast<std::int64_t>(rank) * 7 + index) % 16);
}

float expected_value(
    CollectiveKind kind, int rank, int n, std::int64_t elements, std::int64_t index) {
  const std::int64_t block = elements / n;
  const auto sum_at = [n](std::int64_t i) {
    float sum = 0;
    for (int r = 0; r < n; ++r) sum += send_value(r, i);
    return sum;
  };
  switch (kind) {
    case CollectiveKind::all_reduce:
      return sum_at(index);
    case CollectiveKind::reduce_scatter:
      return sum_at(rank * block + index);
    case CollectiveKind::all_gather:
      return send_value(static_cast<int>(index / block), index % block);
    case CollectiveKind::broadcast:
      return send_value(0, index);
    case CollectiveKind::all_to_all:  // block b of mine is block `rank` of rank b
      return send_value(static_cast<int>(index / block), rank * block + index % block);
    case CollectiveKind::send_recv:  // from the previous rank of a ring
      return send_value((rank + n - 1) % n, index);
  }
  throw std::logic_error("unknown collective");
}

std::vector<std::vector<int>> gpu_subsets(int gpus) {
  const auto first = [](int n) {
    std::vector<int> devices;
    devices.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) devices.push_back(i);
    return devices;
  };
  std::vector<std::vector<int>> subsets;
  for (int n = 2; n < gpus; n *= 2) {
    subsets.push_back(first(n));
    if (n == 2 && gpus >= 4) subsets.push_back({0, gpus / 2});
  }
  subsets.push_back(first(gpus));
  return subsets;
}

std::string join(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) {
    if (!text.empty()) text += ',';
    text += std::to_string(value);
  }
  return text;
}

std::vector<CollectiveKind> parse_collectives(std::string_view list) {
  std::vector<CollectiveKind> kinds;
  if (list == "all") {
    for (const CollectiveRow& row : collective_table) kinds.push_back(row.kind);
    return kinds;
  }
  while (true) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view word = list.substr(0, comma);
    const auto* const row = std::find_if(collective_table.begin(),
                                         collective_table.end(),
                                         [word](const CollectiveRow& r) { return r.name == word; });
    if (row == collective_table.end()) {
      throw UserError("--ops: '" + std::string(word) +
                      "' is none of all, all_reduce, all_gather, reduce_scatter, broadcast, "
                      "alltoall, sendrecv");
    }
    kinds.push_back(row->kind);
    if (comma == list.size()) return kinds;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace stepsight::calibrate
