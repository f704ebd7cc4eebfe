#include "simulate/gradient_buckets.h"

namespace stepsight {

std::vector<Bucket> gradient_buckets(std::span<const double> tensor_bytes,
                                     const BucketLimits& limits) {
  std::vector<Bucket> buckets;
  Bucket open;
  for (std::size_t i = 0; i < tensor_bytes.size(); ++i) {
    if (open.tensors == 0) open.first_tensor = static_cast<std::uint32_t>(i);
    ++open.tensors;
    open.bytes += tensor_bytes[i];
    if (open.bytes >= (buckets.empty() ? limits.first_bytes : limits.bytes)) {
      buckets.push_back(open);
      open = {};
    }
  }
  if (open.tensors > 0) buckets.push_back(open);
  return buckets;
}

}  // namespace stepsight
