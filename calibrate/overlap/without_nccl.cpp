#include "calibrate/overlap/works.h"

namespace stepsight::calibrate {

std::vector<Work> collective_works(const std::vector<int>&, const ChannelGroup&) {
  return {};
}

std::string collective_library() {
  return "";
}

}  // namespace stepsight::calibrate
