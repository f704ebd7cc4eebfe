#include "simulate/gradient_buckets.h"

#include <algorithm>
#include <array>

namespace stepsight {

std::vector<Bucket> gradient_buckets(std::span<const double> tensor_bytes,
                                     const BucketLimits& limits,
                                     std::span<const GradientGroup> groups) {
  std::vector<Bucket> buckets;
  struct Filling {
    Bucket open;
    bool any_closed = false;
  };
  std::array<Filling, 2> fillings;
  for (std::size_t i = 0; i < tensor_bytes.size(); ++i) {
    const GradientGroup group = groups.empty() ? GradientGroup::data : groups[i];
    if (group == GradientGroup::none) continue;
    auto& [open, any_closed] = fillings[static_cast<std::size_t>(group)];
    const auto tensor = static_cast<std::uint32_t>(i);
    if (open.tensors == 0) open = {tensor, tensor, 0, 0, group};
    ++open.tensors;
    open.last_tensor = tensor;
    open.bytes += tensor_bytes[i];
    if (open.bytes >= (any_closed ? limits.bytes : limits.first_bytes)) {
      buckets.push_back(open);
      open = {};
      any_closed = true;
    }
  }
  for (const Filling& rest : fillings) {
    if (rest.open.tensors > 0) buckets.push_back(rest.open);
  }
  // Those of one group are closed in this order.
  const auto closes_before = [](const Bucket& a, const Bucket& b) {
    return a.last_tensor < b.last_tensor;
  };
  if (!std::is_sorted(buckets.begin(), buckets.end(), closes_before)) {
    std::stable_sort(buckets.begin(), buckets.end(), closes_before);
  }
  return buckets;
}

}  // namespace stepsight
