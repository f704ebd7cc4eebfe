// Means of what a framework's timers print again and again, by name.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/step_log.h"

namespace stepsight {

class PartMeans {
 public:
  // Seconds of the slowest and the fastest rank; equal where one rank prints. Anything that is no
  // time, and names beyond the first hundred, are passed over.
  void add(std::string_view name, double least, double most);
  [[nodiscard]] std::vector<LoggedPart> parts() const;
  [[nodiscard]] bool empty() const { return sums_.empty(); }

 private:
  std::vector<LoggedPart> sums_;
};

}  // namespace stepsight
