#include "calibrate/overlap/works.h"

namespace stepsight::calibrate {

std::vector<Work> collective_works(const std::vector<int>&, const std::vector<std::int64_t>&) {
  return {};
}

std::string collective_library() {
  return "";
}

}  // namespace stepsight::calibrate
