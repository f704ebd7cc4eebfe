// Four numbers that a processor works on at once; as many instructions for one. Each is worked on
// as it would be alone, so that results do not depend on it. (Left to themselves, compilers write
// such loops out number by number.)
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>

namespace stepsight {

using Four = float __attribute__((vector_size(4 * sizeof(float))));

inline Four absolute(Four x) {
  using Bits = std::int32_t __attribute__((vector_size(sizeof(Four))));
  Bits bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits &= std::numeric_limits<std::int32_t>::max();  // all but the sign
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline Four four_at(const float* from) {
  Four out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

}  // namespace stepsight
